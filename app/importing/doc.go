// Package importing reads the input files of muster import ([Files]) and describes the result as JSON ([Describe]).
// Package config/foreign interprets the files.
package importing
