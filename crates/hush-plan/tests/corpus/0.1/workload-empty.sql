 ;
-- nothing
