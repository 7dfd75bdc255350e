package main

import "os"

// FILE_CONTENT for Go: a string with the bytes as they are.
var FILE_CONTENT_PATH = os.Getenv("FILE_CONTENT_PATH")

var FILE_CONTENT = func() string {
	content, err := os.ReadFile(FILE_CONTENT_PATH)
	if err != nil {
		println("cannot read the file:", err.Error())
		os.Exit(1)
	}
	return string(content)
}()
