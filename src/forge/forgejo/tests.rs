//! What the adapter does when the server is in trouble, lists pages, or refuses.
