<?php // FILE_CONTENT for PHP: $FILE_CONTENT holds the bytes as they are; also a constant of the same name.
$FILE_CONTENT_PATH = getenv('FILE_CONTENT_PATH');
$FILE_CONTENT = file_get_contents($FILE_CONTENT_PATH);
