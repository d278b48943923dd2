// Invalid files: texts that are not JSON.

extension Broken {
    static let syntax = [
        Broken(
            "an empty file",
            "",
            [
                "1:1: empty, expected an object"
            ]),
        Broken(
            "a file of spaces",
            " \n ",
            [
                "1:1: empty, expected an object"
            ]),
        Broken(
            "a byte order mark",
            "\u{feff}{}",
            [
                "1:1: begins with a byte order mark, expected UTF-8 without one"
            ]),
        Broken(
            "a missing comma between members",
            #"""
            {"a": 1
             "b": 2}
            """#,
            [
                #"2:2: unexpected "b", expected ',' or '}'"#
            ]),
        Broken(
            "a missing comma between items",
            #"{"a": [1 2]}"#,
            [
                "1:10: unexpected 2, expected ',' or ']'"
            ]),
        Broken(
            "a comma before the end of an object",
            #"{"a": 1,}"#,
            [
                "1:9: unexpected } after a comma, expected a key in double quotes, or no comma"
            ]),
        Broken(
            "a comma before the end of a list",
            #"{"a": [1,]}"#,
            [
                "1:10: unexpected ] after a comma, expected a value, or no comma"
            ]),
        Broken(
            "a NUL byte behind the file",
            "{\"a\":1}\n\0",
            [
                "2:1: unexpected NUL byte, expected the escape \\u0000 in a string, and none elsewhere"
            ]),
        Broken(
            "a NUL byte behind a number",
            "{\"a\":1\0,\"b\":2}",
            [
                "1:7: unexpected NUL byte, expected the escape \\u0000 in a string, and none elsewhere"
            ]),
        Broken(
            "a fault behind characters of two, three and four bytes",
            "{\"ä€😀\":1 2}",
            [
                "1:11: unexpected 2, expected ',' or '}'"
            ]),
        Broken(
            "a comment",
            """
            // routes
            {}
            """,
            [
                "1:1: unexpected /, expected a value; JSON has no comments"
            ]),
        Broken(
            "a shell comment",
            """
            {
            # routes
            }
            """,
            [
                "2:1: unexpected #, expected a key in double quotes or '}'; JSON has no comments"
            ]),
        Broken(
            "single quotes",
            "{'a': 1}",
            [
                "1:2: unexpected ', expected a key in double quotes or '}'; JSON uses double quotes"
            ]),
        Broken(
            "a key without quotes",
            "{a: 1}",
            [
                "1:2: unexpected a, expected a key in double quotes or '}'"
            ]),
        Broken(
            "a string without an end",
            #"""
            {"a": "b
            }
            """#,
            [
                "1:7: the string does not end, expected a closing quote on its line"
            ]),
        Broken(
            "a string without an end, at the end of the file",
            #"{"a": "b"#,
            [
                "1:7: the string does not end, expected a closing quote on its line"
            ]),
        Broken(
            "a tab in a string",
            "{\"a\": \"b\tc\"}",
            [
                #"1:9: control character 0x9 in a string, expected an escape such as \n or \u0009"#
            ]),
        Broken(
            "an unknown escape",
            #"{"a": "b\qc"}"#,
            [
                #"1:10: invalid escape, expected \" \\ \/ \b \f \n \r \t or \u and four digits"#
            ]),
        Broken(
            "half a surrogate pair",
            #"{"a": "\ud800"}"#,
            [
                #"1:7: invalid Unicode '\uD800', expected both halves of a surrogate pair"#
            ]),
        Broken(
            "a NUL in a key",
            #"{"a\u0000": 1}"#,
            [
                "1:2: a key holds a NUL byte"
            ]),
        Broken(
            "a misspelt literal",
            #"{"a": ture}"#,
            [
                "1:7: unexpected ture, expected a value"
            ]),
        Broken(
            "a number with a leading zero",
            #"{"a": 01}"#,
            [
                "1:7: unexpected 01, expected a value"
            ]),
        Broken(
            "a number that ends in a dot",
            #"{"a": 1.}"#,
            [
                "1:7: unexpected 1., expected a value"
            ]),
        Broken(
            "a colon missing",
            #"{"a" 1}"#,
            [
                "1:6: unexpected 1, expected ':'"
            ]),
        Broken(
            "something after the end",
            "{} {}",
            [
                "1:4: unexpected {, expected the end of the file"
            ]),
        Broken(
            "the end in a member",
            #"{"a":"#,
            [
                "1:6: the file ends here, expected a value"
            ]),
        Broken(
            "the end in a list",
            #"{"a": [1"#,
            [
                "1:9: the file ends here, expected ',' or ']'"
            ]),
        Broken(
            "the end after a key",
            #"""
            {"a"

            """#,
            [
                "2:1: the file ends here, expected ':'"
            ]),
        Broken(
            "an object that is not closed",
            #"""
            {"a": 1

            """#,
            [
                "2:1: the file ends here, expected ',' or '}'"
            ]),
        Broken(
            "one closing brace too many",
            #"{"a": 1}}"#,
            [
                "1:9: unexpected }, expected the end of the file"
            ]),
        Broken(
            "a column counts characters",
            #"{"é": é}"#,
            [
                "1:7: unexpected é, expected a value"
            ]),
    ]
}
