//! Lengths of time as people write them: a number and one letter, such as `60s` or `24h`.

/// The seconds in one of each letter.
const UNITS: [(char, u32); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];

/// Reads a length written with one of `letters`; none when it is written otherwise, is nothing, or has no end.
pub fn seconds(text: &str, letters: &str) -> Option<u32> {
    let (number, letter) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let letter = letter.chars().next().filter(|it| letters.contains(*it))?;
    let (_, unit) = UNITS.iter().find(|(it, _)| *it == letter)?;
    let is_plain = number.bytes().all(|it| it.is_ascii_digit()) && !number.starts_with('0');
    let number: u32 = is_plain.then(|| number.parse().ok())??;
    number.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_a_letter() {
        assert_eq!(seconds("60s", "smhd"), Some(60));
        assert_eq!(seconds("24h", "mhd"), Some(86_400));
        for bad in [
            "", "s", "0s", "007s", "-1s", "+1s", "1.5h", "60", "60 s", "60S", "1w", "9999999d",
            "5é", "٣s",
        ] {
            assert_eq!(seconds(bad, "smhd"), None, "{bad:?}");
        }
        assert_eq!(seconds("60s", "mhd"), None);
    }
}
