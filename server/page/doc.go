// Package page serves the dashboard's files, which are built into the program.
//
//	dashboard := page.New()
//	if dashboard.Has(r.URL.Path) {
//		dashboard.ServeHTTP(w, r)
//	}
//
// make ui writes the files into the folder bundle, as NAME or NAME.gz; the folder is embedded. A program that is built
// without them serves a plain page that says how to get the dashboard, and its API works all the same ([Page.Built]).
//
// The package keeps these invariants:
//
//   - The files are the same for all readers and hold no secret, so they need no token. Their data comes from the API.
//   - The page runs only scripts and styles of its own files: the content security policy allows nothing inline,
//     nothing from elsewhere, no frame around it and no form. A text that an attacker brings in stays a text.
//   - A name with a hash in it never changes its content, so browsers keep it for a year. Every other file is asked for
//     each time, and has an ETag.
//   - Only names of [page.New]'s list are served: no path of a request is a path of the disk.
//
// The routes and the data are packages server and board.
package page
