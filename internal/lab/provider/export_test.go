package provider

import "bufio"

// ReadFrame and ParseCall are what the fuzz test reads with.
func ReadFrame(in *bufio.Reader, buffer []byte) ([]byte, error) { return readFrame(in, buffer) }

func ParseCall(frame []byte) (uint64, error) {
	c, err := parseCall(frame)
	return c.number, err
}
