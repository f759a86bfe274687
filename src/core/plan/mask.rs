//! Values that must not be shown: marked in a draft, keyed when sealed.
