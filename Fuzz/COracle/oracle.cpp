#include "oracle.h"

#include <simdjson.h>

struct oracle {
  simdjson::dom::parser parser;
  simdjson::error_code error = simdjson::SUCCESS;
};

oracle *oracle_new(void) { return new oracle; }
void oracle_free(oracle *oracle) { delete oracle; }

oracle_verdict oracle_judge(oracle *oracle, const uint8_t *text, size_t count) {
  simdjson::dom::element root;
  oracle->error = oracle->parser.parse(text, count, false).get(root);
  switch (oracle->error) {
  case simdjson::SUCCESS: return root.is_object() ? ORACLE_OBJECT : ORACLE_OTHER_VALUE;
  case simdjson::STRING_ERROR: return ORACLE_BAD_STRING;
  case simdjson::NUMBER_ERROR: return ORACLE_BAD_NUMBER;
  case simdjson::DEPTH_ERROR: return ORACLE_TOO_DEEP;
  default: return ORACLE_INVALID;
  }
}

const char *oracle_words(const oracle *oracle) { return simdjson::error_message(oracle->error); }
