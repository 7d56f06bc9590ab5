// Package top shows the fleets of a running muster up in a terminal, as they change: a list, and the curves of one
// fleet. It is the command muster top.
//
//	err := top.Run(ctx, c, os.Stdin, os.Stdout)
//
// The main types:
//
//   - [Model] is the state of the display: the board, the selection and the curves. Events of the stream and keys
//     change it ([Model.Apply], [Model.Press]).
//   - [View] says how large the terminal is and whether it has colours. [View.Lines] draws a model as lines of text; it
//     is pure, so the tests compare whole screens.
//   - [Run] connects both with a terminal: raw keys, the alternative screen, resizing.
//
// The package keeps these invariants:
//
//   - A screen is written at once, line over line, without clearing, so nothing flickers. Equal screens are not
//     written again.
//   - Text of other origin (names, errors) commands no terminal.
//   - A state is a word and a mark, never a colour alone. Without colours ([View].Colour, NO_COLOR) nothing is lost.
//   - The terminal is restored, whatever ends the display.
//
// It knows the API only: the stream, and the series of the fleet that is shown. Package status prints once.
package top
