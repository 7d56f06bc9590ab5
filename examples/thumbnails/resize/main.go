// Command resize makes the thumbnail of one image: the work that the example thumbnails gives its workers.
//
// It is run once for each message, with the message on standard input: the path of an image below the input folder,
// plain or as {"image": "path"}. The thumbnail gets the same path below the output folder. It appears there whole or
// not at all, and making it twice gives the same file, so a message that is delivered twice does no harm.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// maxMessage bounds the message in bytes; it is no more than a path.
	maxMessage = 8 << 10
	// maxPixels bounds what is decoded: a small file can declare an image that fills the memory.
	maxPixels = 50_000_000
	// quality is that of JPEG thumbnails, 1 to 100.
	quality = 85
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "resize:", err)
		os.Exit(1)
	}
}

// run checks the flags, reads the message and makes the thumbnail. Its error is what muster logs shows for a failed
// attempt, so it names the file and what is allowed.
func run(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("resize", flag.ContinueOnError)
	from := flags.String("in", "images", "the folder of the images; nothing outside it is read")
	to := flags.String("out", "thumbnails", "the folder of the thumbnails; nothing outside it is written")
	edge := flags.Int("edge", 160, "the longer edge of a thumbnail in pixels, 1 to 4096; images are never enlarged")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *edge < 1 || *edge > 4096 {
		return fmt.Errorf("-edge: found %d, allowed is 1 to 4096", *edge)
	}
	name, err := readName(flags.Args(), stdin)
	if err != nil {
		return err
	}
	// Several workers may do this at the same time.
	if err := os.MkdirAll(*to, 0o755); err != nil {
		return fmt.Errorf("make the output folder: %w", err)
	}
	in, err := os.OpenRoot(*from)
	if err != nil {
		return fmt.Errorf("open the input folder: %w", err)
	}
	defer in.Close()
	out, err := os.OpenRoot(*to)
	if err != nil {
		return fmt.Errorf("open the output folder: %w", err)
	}
	defer out.Close()
	original, format, err := read(in, name)
	if err != nil {
		return err
	}
	size := fit(original.Bounds().Size(), *edge)
	if err := write(out, name, format, shrink(original, size)); err != nil {
		return fmt.Errorf("write the thumbnail of %s: %w", name, err)
	}
	was := original.Bounds().Size()
	_, err = fmt.Fprintf(stdout, "%s: %dx%d to %dx%d\n", name, was.X, was.Y, size.X, size.Y)
	return err
}

// readName returns the path that a message names: that of the argument, if there is one, else that on standard input. A
// message comes from outside: a path that leaves the input folder is refused.
func readName(args []string, stdin io.Reader) (string, error) {
	if len(args) > 1 {
		return "", fmt.Errorf("read the message: found %d arguments, at most one is allowed", len(args))
	}
	message := strings.Join(args, "")
	if len(args) == 0 {
		all, err := io.ReadAll(io.LimitReader(stdin, maxMessage+1))
		if err != nil {
			return "", fmt.Errorf("read the message: %w", err)
		}
		message = string(all)
	}
	if len(message) > maxMessage {
		return "", fmt.Errorf("read the message: found more than %d bytes, a path is expected", maxMessage)
	}
	name := strings.TrimSpace(message)
	if strings.HasPrefix(name, "{") {
		var order struct{ Image string }
		if err := json.Unmarshal([]byte(name), &order); err != nil {
			return "", fmt.Errorf(`read the message: %w; {"image": "path"} is allowed`, err)
		}
		name = order.Image
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("read the message: found the path %q, one below the input folder is allowed", name)
	}
	return path.Clean(name), nil
}

// read decodes an image of the input folder. The folder is an [os.Root]: a link that leads out of it is refused too.
func read(in *os.Root, name string) (image.Image, string, error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, "", fmt.Errorf("read the image: %w", err)
	}
	defer f.Close()
	// The size is checked before the pixels are decoded.
	c, format, err := image.DecodeConfig(f)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read the image %s: %w; JPEG and PNG are allowed", name, err)
	case c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height:
		return nil, "", fmt.Errorf("read the image %s: found %d x %d pixels, at most %d in all are allowed", name,
			c.Width, c.Height, maxPixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, "", fmt.Errorf("read the image %s: %w", name, err)
	}
	m, _, err := image.Decode(f)
	if err != nil {
		return nil, "", fmt.Errorf("read the image %s: %w", name, err)
	}
	return m, format, nil
}

// write writes the file under a name of its own and then renames it. Another worker with the
// same message writes another file, and the last rename wins with equal bytes.
func write(out *os.Root, name, format string, m image.Image) error {
	folder, base := path.Split(name)
	if folder != "" {
		if err := out.MkdirAll(path.Clean(folder), 0o755); err != nil {
			return err
		}
	}
	// A random name, because two workers may have the same message.
	temporary := folder + "." + base + "." + rand.Text()
	f, err := out.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	// The message is deleted once this program succeeds, so the thumbnail must be on disk by then.
	err = errors.Join(encode(f, format, m), f.Sync(), f.Close())
	if err == nil {
		err = out.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, out.Remove(temporary))
	}
	return nil
}

// encode writes a thumbnail in the format of its original.
func encode(w io.Writer, format string, m image.Image) error {
	if format == "png" {
		return png.Encode(w, m)
	}
	return jpeg.Encode(w, m, &jpeg.Options{Quality: quality})
}
