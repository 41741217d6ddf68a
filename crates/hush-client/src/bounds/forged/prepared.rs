// SPDX-License-Identifier: Apache-2.0
//! The same server, asked for what was prepared at encryption: cells of a cube, and pieces of a sorted run.

use super::*;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
order = [{ by = "x", cover = ["n"] }]
cubes = [{ by = ["g"], sum = ["x"] }]
[columns.n]
type = "int(16)"
protect = "clear"
[columns.g]
type = "int(8)"
range = [0, 3]
protect = "encrypt"
for = ["fetch"]
[columns.x]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
for = ["fetch"]
"#;
/// Three blocks and some rows.
const ROWS: usize = 1600;

/// Changes the cells, and the pieces, of an answer, and its checksum.
fn altered(bytes: Vec<u8>, cells: &dyn Fn(&mut [u8]), piece: &dyn Fn(&mut [u8])) -> Vec<u8> {
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    let place = |found: &[u8]| {
        let start = found.as_ptr() as usize - bytes.as_ptr() as usize;
        start..start + found.len()
    };
    let of_cells = answer.cells.map(|cells| place(cells.packed()));
    let pieces: Vec<_> =
        answer.pieces.iter().flat_map(|pieces| pieces.iter()).map(|(_, found)| place(found)).collect();
    let mut forged = bytes.clone();
    of_cells.into_iter().for_each(|place| cells(&mut forged[place]));
    pieces.into_iter().for_each(|place| piece(&mut forged[place]));
    let signed = forged.len() - 32;
    let checksum = Digest::of(&forged[..signed]);
    forged[signed..].copy_from_slice(checksum.as_bytes());
    forged
}

/// Bytes of a block: nonce and tag, and for each of 512 rows its number, `x` and `n`.
const BLOCK: usize = 40 + 512 * (19 + 10 + 16) / 8;

#[test]
fn cells_and_blocks_that_a_server_changes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    let rows: String = (0..ROWS).map(|n| format!("{n},{},{}\n", n % 4, n * 7 % 1001)).collect();
    encrypt_as(directory.path(), &key, SCHEMA, &format!("n,g,x\n{rows}"));
    let all = "SELECT n, x FROM t WHERE x >= 0 ORDER BY x";
    let cases: [(WayName, &str, Forge, &str); 6] = [
        // The lane of counts comes first: there are more rows than the parts have.
        (
            WayName::Cube,
            "SELECT g, SUM(x) AS s FROM t GROUP BY g",
            |bytes| altered(bytes, &|cells| cells[0] ^= 1, &|_| {}),
            "its cells are not those of the table",
        ),
        (
            WayName::Order,
            "SELECT MEDIAN(x) AS m FROM t",
            |bytes| altered(bytes, &|_| {}, &|piece| piece[30] ^= 1),
            "the index of a run is not that of its part",
        ),
        (
            WayName::Order,
            "SELECT MAX(x) AS m FROM t",
            |bytes| {
                altered(bytes, &|_| {}, &|piece| {
                    if piece.len().is_multiple_of(BLOCK) {
                        piece[30] ^= 1
                    }
                })
            },
            "a block of a run is not that of its place",
        ),
        (
            WayName::Order,
            all,
            |bytes| {
                altered(bytes, &|_| {}, &|piece| {
                    if piece.len() == 4 * BLOCK {
                        piece.rotate_left(BLOCK)
                    }
                })
            },
            "a block of a run is not that of its place",
        ),
        // One block twice, in the place of another.
        (
            WayName::Order,
            all,
            |bytes| {
                altered(bytes, &|_| {}, &|piece| {
                    if piece.len() == 4 * BLOCK {
                        piece.copy_within(..BLOCK, BLOCK)
                    }
                })
            },
            "a block of a run is not that of its place",
        ),
        (WayName::Order, all, shortened, "it does not have the blocks that were asked for"),
    ];
    for (way, query, forge, expected) in cases {
        let limits = QueryLimits { way: Some(way), ..QueryLimits::default() };
        let on = |forge: Forge| on_a_server(directory.path(), &key, forge).with_limits(limits);
        assert!(on(|bytes| bytes).ask(query, &Silent).unwrap().batches[0].num_rows() > 0);
        let refused = on(forge).ask(query, &Silent).unwrap_err();
        assert!(refused.to_string().contains(expected), "{query}: {refused}");
        assert_eq!(refused.kind(), ErrorKind::Damaged);
    }
}

/// The last block is left out.
fn shortened(bytes: Vec<u8>) -> Vec<u8> {
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    let Some((_, piece)) = answer.pieces.as_ref().and_then(|pieces| pieces.iter().next()) else {
        return bytes;
    };
    if piece.len() != 4 * BLOCK {
        return bytes;
    }
    let end = piece.as_ptr() as usize - bytes.as_ptr() as usize + piece.len();
    // Before the piece stands its length, and the length of all pieces and that of the answer stand in the head.
    let mut forged = [&bytes[..end - BLOCK], &bytes[end..]].concat();
    for at in [end - piece.len() - 8, 24, 116] {
        let length = u64::from_le_bytes(forged[at..at + 8].try_into().unwrap()) - BLOCK as u64;
        forged[at..at + 8].copy_from_slice(&length.to_le_bytes());
    }
    let signed = forged.len() - 32;
    let checksum = Digest::of(&forged[..signed]);
    forged[signed..].copy_from_slice(checksum.as_bytes());
    forged
}

/// Numbers of rows of the cells of a group add up to the number that the server gives in the clear.
#[test]
fn cells_that_are_not_those_of_a_groups_rows_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    let schema = SCHEMA.replace("cubes = ", "group = ");
    let rows: String = (0..ROWS).map(|n| format!("{},{},{}\n", n % 2, n % 4, n * 7 % 1001)).collect();
    encrypt_as(directory.path(), &key, &schema, &format!("n,g,x\n{rows}"));
    let limits = QueryLimits { way: Some(WayName::Group), ..QueryLimits::default() };
    let on = |forge: Forge| on_a_server(directory.path(), &key, forge).with_limits(limits);
    for query in [
        "SELECT g, COUNT(*) AS c, SUM(x) AS s FROM t GROUP BY g",
        "SELECT n, SUM(x) AS s FROM t WHERE g > 1 GROUP BY n",
        "SELECT COUNT(*) AS c FROM t WHERE g = 2 AND n = 1",
    ] {
        assert!(on(|bytes| bytes).ask(query, &Silent).unwrap().batches[0].num_rows() > 0);
        let refused = on(|bytes| added(bytes, 1)).ask(query, &Silent).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Damaged);
        assert!(refused.to_string().contains("its cells are not those of its rows"), "{query}: {refused}");
    }
}

/// Slots of a changed sum are any numbers, and no rows have so many matches.
#[test]
fn sums_under_a_condition_that_no_rows_give_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = OwnerKey::temporary().unwrap();
    let column = |name: &str, range: &str, purposes: &str| {
        format!(
            "[columns.{name}]\ntype = \"int(16)\"\nrange = {range}\nprotect = \"encrypt\"\nfor = [{purposes}]\n"
        )
    };
    let schema = format!(
        "format = 1\ntable = \"t\"\nstatus = \"approved\"\nmax_rows = 100000\n{}{}",
        column("g", "[0, 9]", "\"filter\""),
        column("x", "[0, 1000]", "\"measure\"")
    );
    let rows: String = (0..ROWS).map(|n| format!("{},{}\n", n % 10, n * 7 % 1001)).collect();
    encrypt_as(directory.path(), &key, &schema, &format!("g,x\n{rows}"));
    let limits = QueryLimits { way: Some(WayName::Filter), ..QueryLimits::default() };
    let on = |forge: Forge| on_a_server(directory.path(), &key, forge).with_limits(limits);
    for query in ["SELECT COUNT(*) AS c FROM t WHERE g > 3", "SELECT SUM(x) AS s FROM t WHERE g = 3 OR g = 7"]
    {
        assert!(on(|bytes| bytes).ask(query, &Silent).unwrap().batches[0].num_rows() > 0);
        let refused = on(scrambled).ask(query, &Silent).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Damaged, "{query}: {refused}");
    }
}
