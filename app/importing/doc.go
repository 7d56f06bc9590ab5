// Package importing reads the files that muster import is given ([Files]) and describes for programs what became of
// them ([Describe]). What the files mean is the matter of package config/foreign.
package importing
