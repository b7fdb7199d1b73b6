// Package syntax says what the parts of source text are: keyword, string,
// comment. It runs chroma's lexers, which are regular expressions that go back
// and forth, over text that a hostile agent may have written for them. So all is
// bounded here: the size of a text, the length of a line, the time of one
// expression, the steps without an answer, and the caller's context ends it all.
// What is beyond a bound has no parts, which is drawn plain. Nothing is loaded,
// compiled or started before the first text of a language; nothing runs but in
// the caller's goroutine.
//
// What this does not cover: colours are a help to read, they prove nothing. A
// lexer knows less of a language than its compiler, and can be led to call code
// a comment; what is risky is said by diffreview/risk.
package syntax
