//! What people read: notes, replies and status lines, as Markdown.
