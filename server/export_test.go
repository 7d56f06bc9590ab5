package server

// NewToken returns the token with the given text, for tests.
func NewToken(text string) Token { return Token{text} }
