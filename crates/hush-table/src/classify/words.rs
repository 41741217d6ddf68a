// SPDX-License-Identifier: Apache-2.0
//! The dictionary of column names: English, German, French, Spanish, Italian, and terms of HL7, FHIR, OMOP,
//! banking and personnel files. Lower case, no accents (ä is ae). `=` marks phrases that must be the whole name.

use super::Class;

/// Phrases by class, one line per language or field.
pub(super) const DICTIONARY: &[(Class, &[&str])] = &[
    (
        Class::Credential,
        &[
            "password,passwd,pwd,passphrase,secret,api key,apikey,access token,auth token,refresh token,private key,=token,=pin,pin code,password hash,security answer",
            "passwort,kennwort,mot de passe,contrasena,clave secreta,parola chiave",
        ],
    ),
    (
        Class::RecordId,
        &[
            "=id,=key,=pk,=uid,=guid,=uuid,=patient,=subject,=person,=customer,=client,=employee,=member,=index,=row,id,identifier,record number,record no,row number,row id,row nr",
            "patient id,patient identifier,patient number,patient no,patient nr,subject id,person id,customer id,customer number,client id,member id,employee id,employee number,staff id,staff number,student id,user id,participant id,case id,case number,encounter id,visit id,visit occurrence id,claim id,policy number,order number,invoice number,transaction id,document number,sample id,specimen id,provider id",
            "mrn,medical record number,medical record,hospital number,chart number,accession number,person source value,pid,fhir id",
            "kunden id,kundennummer,patientennummer,patienten id,patientennr,fallnummer,fall nr,aktenzeichen,personalnummer,mitarbeiternummer,versicherungsnummer,versichertennummer,matrikelnummer,=kennung,=nummer,=nr",
            "identifiant,numero patient,numero dossier,numero client,matricule,ipp,identificador,numero de historia,numero cliente,=codigo,expediente,numero di cartella,codice paziente,codice cliente,matricola,identificativo,id paziente",
        ],
    ),
    (
        Class::NationalId,
        &[
            "ssn,social security,social security number,national id,national identifier,national insurance,national insurance number,nino,nhs number,nhs no,nhs,passport,passport number,driver license,drivers license,driving licence,licence number,license plate,number plate,tax id,tax number,tin,itin,ein,vat number,medicare number,medicaid id,voter id,id card,identity card,citizen id,aadhaar,pan number",
            "steuer id,steuer identifikationsnummer,steueridentifikationsnummer,steuernummer,sozialversicherungsnummer,sv nummer,svnr,ahv,ahv nummer,ausweis,ausweisnummer,personalausweis,reisepass,passnummer,fuehrerschein,kennzeichen,krankenversichertennummer,kvnr,rentenversicherungsnummer",
            "nir,numero securite sociale,securite sociale,numero insee,carte identite,passeport,carte vitale,permis de conduire,plaque",
            "dni,nie,nif,numero de seguridad social,seguridad social,pasaporte,cedula,rut,curp,cuil,codice fiscale,=cf,partita iva,passaporto,carta identita,tessera sanitaria,targa,patente",
            "personnummer,personal number,fodselsnummer,cpr,hetu,bsn,pesel,cpf,rodne cislo,egn,cnp,emirates id",
        ],
    ),
    (
        Class::Card,
        &[
            "credit card,card number,card no,card num,=pan,debit card,cc number,ccn,payment card,cvv,cvc,card expiry",
            "kreditkarte,kartennummer,kreditkartennummer,carte bancaire,numero de carte,tarjeta,numero de tarjeta,carta di credito,numero carta",
        ],
    ),
    (
        Class::Account,
        &[
            "iban,bic,swift,bank account,account number,account no,account nr,account id,=account,routing number,sort code,bban",
            "konto,kontonummer,bankverbindung,bankleitzahl,blz,compte,numero de compte,rib,cuenta,numero de cuenta,cuenta bancaria,conto,conto corrente,numero conto",
        ],
    ),
    (
        Class::PersonName,
        &[
            "=name,=names,first name,last name,full name,surname,given name,family name,middle name,maiden name,birth name,nickname,patient name,customer name,client name,employee name,person name,contact name,cardholder,cardholder name,account holder,next of kin,mother name,father name,spouse,physician name,doctor name,provider name,firstname,lastname,forename,initials,fname,lname,author,signature",
            "vorname,nachname,familienname,geburtsname,vollstaendiger name,patientenname,kundenname,kontoinhaber,ansprechpartner,=arzt,behandelnder arzt,mitarbeiter,rufname",
            "prenom,=nom,nom de famille,nom complet,nom patient,nom de naissance,nom client,titulaire,medecin traitant,salarie",
            "=nombre,nombre completo,apellido,apellidos,primer apellido,segundo apellido,nombre del paciente,titular,=cognome,cognome,=nome,nome completo,nominativo,intestatario,nome paziente",
        ],
    ),
    (
        Class::Email,
        &[
            "email,e mail,mail address,email address,=mail,mailadresse,emailadresse,courriel,adresse mail,adresse electronique,correo,correo electronico,posta elettronica,indirizzo email,telecom email",
        ],
    ),
    (
        Class::Phone,
        &[
            "phone,phone number,telephone,mobile,mobile number,cell phone,=cell,fax,fax number,msisdn,home phone,work phone,contact number,=tel,tel no,telecom",
            "telefon,telefonnummer,handy,handynummer,mobilnummer,rufnummer,faxnummer,=portable,numero de telephone,telefono,numero de telefono,movil,cellulare,numero di telefono",
        ],
    ),
    (
        Class::Address,
        &[
            "address,address line,street,street address,house number,apartment,home address,mailing address,residence,=location,location name,birth place,place of birth,birthplace,=city,=town,=village,home town,county of residence",
            "adresse,anschrift,strasse,hausnummer,wohnort,geburtsort,=ort,=stadt,gemeinde,rue,voie,=ville,commune,lieu de naissance,domicile",
            "direccion,calle,domicilio,=ciudad,municipio,lugar de nacimiento,indirizzo,via,numero civico,comune di residenza,=comune,=citta,luogo di nascita,residenza",
        ],
    ),
    (
        Class::Online,
        &[
            "ip,ip address,ipv4,ipv6,ip addr,remote addr,mac address,=mac,device id,device serial,serial number,imei,imsi,cookie,cookie id,session id,user agent,username,user name,=user,login,screen name,handle,url,website,web site,profile link,advertising id,idfa,gaid,udi,fingerprint,vin",
            "benutzer,benutzername,benutzerkennung,geraet id,seriennummer,adresse ip,identifiant de connexion,nom d utilisateur,usuario,nombre de usuario,direccion ip,utente,nome utente,indirizzo ip",
        ],
    ),
    (
        Class::BirthDate,
        &[
            "birth date,date of birth,dob,=birth,birthday,birth day,birth year,year of birth,month of birth,day of birth,birth datetime,yob,birth month,born",
            "geburtsdatum,geburtstag,geburtsjahr,geb datum,gebdat,=geboren,date de naissance,annee de naissance,=naissance,ddn,fecha de nacimiento,fecha nacimiento,ano de nacimiento,data di nascita,data nascita,anno di nascita",
        ],
    ),
    (
        Class::Postcode,
        &[
            "postcode,post code,postal code,zip,zip code,zipcode,plz,postleitzahl,code postal,cp,codigo postal,cap,codice postale,census tract,block group,lsoa,msoa,output area,geohash",
        ],
    ),
    (
        Class::Coordinates,
        &[
            "latitude,longitude,=lat,=lon,=lng,=long,gps,gps lat,gps lon,geo lat,geo lon,coordinate,coordinates,geolocation,geo point,breitengrad,laengengrad,breite laenge,latitud,longitud,latitudine,longitudine,easting,northing",
        ],
    ),
    (
        Class::Age,
        &[
            "age,age years,age at admission,age at diagnosis,age group,alter,lebensalter,=age ans,edad,eta,=eta,age patient",
        ],
    ),
    (
        Class::Trait,
        &[
            "sex,gender,gender concept id,gender identity,pronouns,race,race concept id,ethnicity,ethnicity concept id,ethnic group,ethnic origin,religion,belief,political,political party,union,union member,trade union,sexual orientation,orientation,marital status,civil status,nationality,citizenship,country of birth,native language,mother tongue,language,education,occupation,profession,job title,employer,income bracket,household size,children,disability,criminal record,conviction,veteran,immigration status,biometric,salutation,title prefix",
            "geschlecht,familienstand,nationalitaet,staatsangehoerigkeit,konfession,gewerkschaft,beruf,bildung,muttersprache,behinderung,anrede,kinderzahl,herkunft,hautfarbe",
            "sexe,genre,situation familiale,etat civil,nationalite,ethnie,syndicat,profession,csp,langue maternelle,handicap,civilite",
            "sexo,genero,estado civil,nacionalidad,etnia,sindicato,ocupacion,idioma,discapacidad,sesso,genere,stato civile,nazionalita,cittadinanza,religione,sindacato,professione,lingua,disabilita,titolo di studio",
        ],
    ),
    (
        Class::Clinical,
        &[
            "bp,blood pressure,systolic,diastolic,sbp,dbp,bp systolic,bp diastolic,map mmhg,mean arterial pressure,heart rate,pulse,hr bpm,=hr,respiratory rate,resp rate,=rr,spo2,spo 2,sp o 2,oxygen saturation,o 2 sat,body temperature,temperature,temp c,=temp,weight,body weight,weight kg,height,body height,height cm,bmi,body mass index,waist,=bsa",
            "glucose,blood sugar,hba1c,hb a 1 c,hba 1 c,a 1 c,cholesterol,hdl,ldl,triglycerides,creatinine,egfr,gfr,urea,bun,hemoglobin,haemoglobin,hematocrit,wbc,rbc,platelet,platelets,leukocytes,crp,c reactive protein,troponin,lactate,sodium,potassium,chloride,bilirubin,albumin,alt,ast,alp,inr,ferritin,tsh,psa,vitamin d,viral load,cd4,cd 4,tumor size,gcs,glasgow coma scale,apache score,sofa,pain score,apgar,fev1,fev 1,peak flow,ejection fraction,qtc,dose,dosage,gestational age,parity",
            "value as number,observation value,lab result,lab value,test result,measurement,measurement value,value quantity,range low,range high,obx 5",
            "blutdruck,systolisch,diastolisch,puls,herzfrequenz,atemfrequenz,sauerstoffsaettigung,koerpertemperatur,temperatur,gewicht,koerpergewicht,groesse,koerpergroesse,blutzucker,kreatinin,haemoglobin,laborwert,messwert,dosis",
            "tension arterielle,pression arterielle,frequence cardiaque,pouls,frequence respiratoire,saturation,poids,taille,glycemie,creatinine,hemoglobine,resultat labo",
            "presion arterial,tension arterial,frecuencia cardiaca,pulso,temperatura corporal,temperatura,peso,talla,estatura,altura,glucosa,glucemia,creatinina,hemoglobina,colesterol,pressione,pressione arteriosa,frequenza cardiaca,polso,altezza,glicemia,emoglobina,colesterolo,dosaggio",
        ],
    ),
    (
        Class::Health,
        &[
            "diagnosis,diagnosis code,icd,icd 9,icd 10,icd 10 code,snomed,loinc,condition,condition concept id,condition code,disease,symptom,allergy,allergies,medication,drug,drug concept id,prescription,atc,procedure,procedure code,procedure concept id,cpt,drg,treatment,therapy,surgery type,vaccine,vaccination,immunization,blood type,blood group,genotype,gene,mutation,variant,hiv,hiv status,smoker,smoking,smoking status,alcohol,pregnant,pregnancy,mental health,depression,diabetes,diabetic,hypertension,cancer,stage,tumor,comorbidity,outcome,death,deceased,cause of death,mortality,observation concept id,measurement concept id,readmission,readmitted,discharge disposition,triage,risk score,insurance plan",
            "diagnose,diagnosen,krankheit,symptome,allergie,medikament,arzneimittel,behandlung,therapie,impfung,blutgruppe,raucher,schwanger,schwangerschaft,verstorben,todesursache,vorerkrankung,krankenkasse,pflegegrad",
            "diagnostic,maladie,allergie,medicament,ordonnance,traitement,vaccin,groupe sanguin,fumeur,enceinte,grossesse,deces,antecedents,mutuelle",
            "diagnostico,enfermedad,sintomas,alergia,medicamento,farmaco,receta,tratamiento,vacuna,grupo sanguineo,fumador,embarazo,fallecido,diagnosi,malattia,sintomi,farmaco,terapia,vaccino,gruppo sanguigno,fumatore,gravidanza,deceduto,patologia",
        ],
    ),
    (
        Class::Money,
        &[
            "charge,charges,total charges,cost,costs,price,unit price,amount,amt,total amount,balance,salary,wage,wages,pay,gross pay,net pay,bonus,income,revenue,turnover,profit,payment,paid,fee,fees,tax,taxes,discount,refund,deposit,loan,loan amount,debt,credit limit,mortgage,rent,premium,copay,deductible,reimbursement,invoice amount,total paid,subtotal,grand total,expense,expenses,budget,market value,net worth,pension,interest,principal,transaction amount,debit,credit,overdraft,limit amount,usd,eur,gbp,chf",
            "betrag,gesamtbetrag,preis,einzelpreis,kosten,gesamtkosten,gehalt,lohn,bruttolohn,nettolohn,einkommen,umsatz,gewinn,zahlung,gebuehr,steuer,rabatt,miete,kontostand,saldo,kredit,schulden,praemie,entgelt,rechnungsbetrag",
            "montant,prix,cout,salaire,remuneration,revenu,chiffre d affaires,paiement,frais,impot,remise,loyer,solde,dette,prime",
            "importe,monto,precio,coste,costo,salario,sueldo,nomina,ingresos,pago,tarifa,impuesto,descuento,alquiler,saldo,deuda,prestamo,importo,prezzo,stipendio,reddito,fatturato,pagamento,tassa,sconto,affitto,debito,mutuo",
        ],
    ),
    (
        Class::EventDate,
        &[
            "admission date,admit date,admitted,discharge date,date of admission,date of discharge,visit date,visit start date,visit end date,appointment,appointment date,date of service,service date,procedure date,condition start date,measurement date,death date,date of death,hire date,start date,end date,termination date,transaction date,payment date,order date,invoice date,created,created at,updated,updated at,timestamp,event time,event date,=date,=datetime,=time,recorded,recorded at,issued,effective date time,expiry date,last login,last seen",
            "aufnahmedatum,entlassungsdatum,eintrittsdatum,austrittsdatum,behandlungsdatum,=datum,buchungsdatum,rechnungsdatum,zeitstempel,todesdatum,date d admission,date de sortie,date d entree,date d embauche,date de deces,horodatage",
            "fecha de ingreso,fecha ingreso,fecha de alta,fecha alta,=fecha,fecha de contrato,fecha de defuncion,data di ricovero,data ricovero,data dimissione,data di dimissione,data assunzione,=data,data decesso",
        ],
    ),
    (
        Class::FreeText,
        &[
            "note,notes,note text,comment,comments,description,remarks,remark,free text,narrative,report,report text,summary,message,feedback,review,complaint,reason for visit,chief complaint,clinical notes,anamnesis,history,transcript,subject line,memo,body text,content,observation text",
            "notiz,notizen,bemerkung,bemerkungen,kommentar,beschreibung,befund,arztbrief,anamnese,freitext,verwendungszweck,commentaire,commentaires,remarque,compte rendu,observations,libelle",
            "comentario,comentarios,observaciones,notas,descripcion,informe,motivo de consulta,motivo,commento,commenti,nota,osservazioni,descrizione,referto,causale",
        ],
    ),
    (
        Class::Public,
        &[
            "ward,department,dept,clinic,=unit,hospital unit,=site,care site,care site id,facility,facility type,branch,division,=region,sales region,business unit,cost center,cost centre,product,product line,product category,category,channel,currency,=year,fiscal year,calendar year,reporting year,school year,admission year,visit year,model year,year of visit,year of admission,quarter,=month,=weekday,day of week,season,shift,=floor,team,store,warehouse,sensor type,station,specialty,speciality,admission type,visit type,visit concept id,encounter class,service line,transaction type,payment method,=type,=class,=group,line of business",
            "=station,abteilung,fachabteilung,klinik,filiale,bereich,kostenstelle,standort,produkt,produktgruppe,kategorie,waehrung,=jahr,geschaeftsjahr,aufnahmejahr,quartal,=monat,wochentag,schicht,fachrichtung,sparte",
            "=service,departement,succursale,agence,=annee,exercice,trimestre,=mois,jour de semaine,devise,produit,categorie,specialite,equipe,=unite",
            "departamento,=sala,servicio,sucursal,=ano,ejercicio,=mes,dia de la semana,moneda,producto,categoria,especialidad,turno,reparto,dipartimento,filiale,=anno,anno fiscale,=mese,giorno della settimana,valuta,prodotto,specialita",
        ],
    ),
];
