package syntax

import "github.com/alecthomas/chroma/v2"

// Kind is what a part of source text is. Themes give each a colour.
type Kind uint8

// The kinds. None is drawn as the line is.
const (
	None Kind = iota
	Keyword
	String
	Comment
	Number
	Type
	Function
	Builtin
	Operator
	Punctuation
	Preproc

	Kinds // how many there are
)

// kindOf sorts chroma's kinds into ours. What a diff within the text adds or
// removes has none: the colours of the review itself say that.
func kindOf(t chroma.TokenType) Kind {
	switch t {
	case chroma.KeywordType, chroma.NameClass, chroma.NameException, chroma.NameNamespace:
		return Type
	case chroma.NameFunction, chroma.NameFunctionMagic, chroma.NameAttribute, chroma.NameProperty:
		return Function
	case chroma.NameBuiltin, chroma.NameBuiltinPseudo:
		return Builtin
	case chroma.NameTag, chroma.OperatorWord, chroma.GenericHeading, chroma.GenericSubheading:
		return Keyword
	case chroma.NameDecorator, chroma.CommentPreproc, chroma.CommentPreprocFile, chroma.CommentHashbang:
		return Preproc
	case chroma.NameEntity, chroma.LiteralDate:
		return Number
	case chroma.Punctuation:
		return Punctuation
	}
	switch {
	case t.InCategory(chroma.Keyword):
		return Keyword
	case t.InCategory(chroma.Comment):
		return Comment
	case t.InCategory(chroma.Operator):
		return Operator
	case t.InSubCategory(chroma.LiteralString):
		return String
	case t.InSubCategory(chroma.LiteralNumber):
		return Number
	}
	return None
}
