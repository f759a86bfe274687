//! The comment grammar: one table makes the parser, the help and the manual.
