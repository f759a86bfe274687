//! Which known word somebody probably meant.

/// The known word nearest to `word`: at most one slip in three letters, or one is the beginning of the other.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|it| (distance(&word.to_lowercase(), it), *it))
        .filter(|(slips, it)| *slips <= allowed || is_beginning(word, it))
        .min()
        .map(|(_, it)| it)
}

fn is_beginning(word: &str, known: &str) -> bool {
    word.len() >= 3 && (known.starts_with(word) || word.starts_with(known))
}

/// How many letters must be put in, left out, exchanged, or swapped with their neighbour.
pub(in crate::core) fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let exchanged = rows[i][j] + usize::from(letter != other);
            let mut cost = exchanged.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i - 1] == *other && *letter == to[j - 1] {
                cost = cost.min(rows[i - 1][j - 1] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_one_letter_more_less_other_or_swapped() {
        for word in ["canar", "canaryy", "canery", "acnary"] {
            assert_eq!(distance(word, "canary"), 1, "{word}");
        }
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("plan", "plan"), 0);
    }

    #[test]
    fn a_word_that_is_far_from_all_has_no_neighbour() {
        assert_eq!(nearest("colour", &["roots", "waves", "gate"]), None);
        assert_eq!(nearest("Gate", &["roots", "gate"]), Some("gate"));
        assert_eq!(
            nearest("token", &["kind", "token_file"]),
            Some("token_file")
        );
    }
}
