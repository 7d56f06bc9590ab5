// Package plan decides what a configuration would set now, without doing anything ([Make]), and prints it with its
// arithmetic and with what the objective has to expect ([Fleet.Print]). Use it before a configuration is put in force;
// what is in force is explained by package explain.
package plan
