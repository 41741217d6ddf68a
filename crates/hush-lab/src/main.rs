// SPDX-License-Identifier: Apache-2.0
//! The `hush-lab` command: the historical schemes. Insecure, for teaching.
use hush_lab::{bv11::*, *};
use std::time::Instant;
fn main() {
    let security: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let depth: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    let seed = Seed::from_text("t");
    fn go<S: InsecureScheme>(p: &S::Params, seed: &Seed) {
        let t = Instant::now();
        let s = S::generate(p, seed, &mut |_| {}).unwrap();
        println!("keygen {:?} {:?} {:?}", t.elapsed(), s.sizes(), s.description());
        let mut r = Stream::derive(seed, "enc");
        let t = Instant::now();
        let a = s.encrypt(true, &mut r).unwrap();
        println!("enc {:?}", t.elapsed());
        println!("{}", s.noise(&a).unwrap());
        let t = Instant::now();
        let b = s.multiply(&a, &a).unwrap();
        println!("mul {:?}", t.elapsed());
        println!("{}", s.noise(&b).unwrap());
        let t = Instant::now();
        let b = s.finish(&b).unwrap();
        println!("finish {:?}", t.elapsed());
        println!("{} {}", s.noise(&b).unwrap(), s.decrypt(&b).unwrap());
        let t = Instant::now();
        let b = s.finish(&a).unwrap();
        println!("raise+finish {:?}", t.elapsed());
        println!("{} {}", s.noise(&b).unwrap(), s.decrypt(&b).unwrap());
    }
    go::<InsecureBv11>(&Bv11Params::named(security, depth).unwrap(), &seed);
    go::<InsecureBv11Leveled>(&Bv11LeveledParams::derive(security, depth).unwrap(), &seed);
}
