// Package importing reads the input files of muster import ([Files]), checks the configuration that was written
// ([Parse]) and describes the result as JSON ([Describe]). It stands between the files of a user and package
// config/foreign, which interprets them and does no I/O.
package importing
