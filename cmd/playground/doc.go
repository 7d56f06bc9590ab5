// Command playground answers one request of package app/playground. Compiled to WebAssembly it is the program behind
// the page that `make playground` builds: the page's Web Worker starts it once for each request, with the request, the
// file's bytes and two functions in global variables. As a native program it reads the request from standard input and
// the file named by -file, and prints the answer, so that both can be compared byte by byte:
//
//	playground -file jobs.csv.gz <request.json
package main
