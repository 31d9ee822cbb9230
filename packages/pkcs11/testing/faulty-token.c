/*
 * A PKCS#11 library with one token and one key, whose faults are those of the file FAULT_FILE: it names one fault, and is read
 * at each call. It exports C_GetFunctionList alone. Its cipher adds 1 to each byte. Each C_Login adds a byte to LOGIN_LOG.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long ulong_t;
typedef struct { ulong_t type; void *value; ulong_t length; } attribute_t;

enum { OK = 0, DEVICE_ERROR = 0x30, ENCRYPTED_DATA_INVALID = 0x40, DEVICE_REMOVED = 0x32, NOT_SUPPORTED = 0x54, TYPE_INVALID = 0x12, KEY_HANDLE_INVALID = 0x60, MECHANISM_INVALID = 0x70, PIN_INCORRECT = 0xa0,
  SESSION_HANDLE_INVALID = 0xb3, TOKEN_NOT_PRESENT = 0xe0, ALREADY_LOGGED_IN = 0x100, ALREADY_INITIALIZED = 0x191, LABEL = 0x3, KEY_TYPE = 0x100, VALUE_LEN = 0x161, EXTRACTABLE = 0x162 };

static int initialized, logged_in, searching;
static ulong_t last_session;

static int fault(const char *name) {
  char text[64] = "";
  const char *path = getenv("FAULT_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file) return 0;
  if (!fgets(text, sizeof text, file)) text[0] = 0;
  fclose(file);
  return strcmp(text, name) == 0;
}

static void heal(void) { unlink(getenv("FAULT_FILE")); }

static ulong_t initialize(void *args) {
  if (fault("noise")) { printf("noise\n"); fflush(stdout); fprintf(stderr, "last words of the library\n"); }
  if (fault("hang at start")) sleep(1000);
  if (initialized) return ALREADY_INITIALIZED;
  initialized = 1;
  return OK;
}
static ulong_t finalize(void *reserved) { return OK; }

static ulong_t get_slot_list(unsigned char present, ulong_t *list, ulong_t *count) {
  if (fault("garbage slots")) { *count = 1UL << 60; return OK; }
  if (fault("more slots than room") && list) { *count = 7; return OK; }
  if (fault("removed")) { *count = 0; return OK; }
  if (list) list[0] = 5;
  *count = 1;
  return OK;
}

static ulong_t get_token_info(ulong_t slot, unsigned char *info) {
  ulong_t flags = 0x4 | 0x8 | 0x400;
  if (fault("removed") || slot != 5) return TOKEN_NOT_PRESENT;
  if (fault("locked")) flags |= 0x40000;
  if (fault("final try")) flags |= 0x20000;
  memset(info, ' ', 208);
  memcpy(info, "faulty", 6);
  memcpy(info + 96, &flags, 8);
  return OK;
}

static ulong_t get_mechanism_list(ulong_t slot, ulong_t *list, ulong_t *count) {
  if (fault("garbage mechanisms")) { *count = ~0UL; return OK; }
  if (list) list[0] = 0x1087;
  *count = 1;
  return OK;
}

static ulong_t open_session(ulong_t slot, ulong_t flags, void *application, void *notify, ulong_t *session) {
  if (fault("removed")) return TOKEN_NOT_PRESENT;
  *session = ++last_session;
  return OK;
}
static ulong_t close_session(ulong_t session) { return OK; }

static ulong_t login(ulong_t session, ulong_t user, unsigned char *pin, ulong_t length) {
  FILE *log = fopen(getenv("LOGIN_LOG"), "a");
  if (logged_in) { fclose(log); return ALREADY_LOGGED_IN; }
  fputc('.', log);
  fclose(log);
  if (length != 4 || memcmp(pin, "good", 4)) return PIN_INCORRECT;
  logged_in = 1;
  return OK;
}

static ulong_t find_init(ulong_t session, attribute_t *template, ulong_t count) { searching = 1; return OK; }
static ulong_t find(ulong_t session, ulong_t *list, ulong_t max, ulong_t *count) {
  if (fault("garbage search")) { *count = 1000; return OK; }
  *count = searching;
  searching = 0;
  list[0] = 9;
  return OK;
}
static ulong_t find_final(ulong_t session) { return OK; }

/* The key has no attributes but with these faults: then it is an AES key k that permits everything but that it is extracted. */
static int has_attributes(void) { return fault("attributes") || fault("no value") || fault("no value once"); }
static ulong_t get_attribute(ulong_t session, ulong_t object, attribute_t *template, ulong_t count) {
  for (ulong_t at = 0; at < count; at += 1) {
    attribute_t *one = &template[at];
    int is_number = one->type == KEY_TYPE || one->type == VALUE_LEN;
    int is_flag = one->length == 1, is_label = one->type == LABEL;
    ulong_t length = !has_attributes() || !one->value ? 0 : is_number ? 8 : is_flag || is_label ? 1 : 0;
    if (length == 8) *(ulong_t *)one->value = one->type == KEY_TYPE ? 0x1f : 32;
    if (length == 1) *(unsigned char *)one->value = is_label ? 'k' : one->type != EXTRACTABLE;
    one->length = fault("garbage attribute") ? 1UL << 40 : length ? length : ~0UL;
  }
  return TYPE_INVALID;
}

/* Of CK_GCM_PARAMS of the operation that is under way: its first member. */
static unsigned char *iv;
static const unsigned char own_iv[] = "madebyTOKEN!";

static ulong_t cipher_init(ulong_t session, void *mechanism, ulong_t key) {
  iv = **(unsigned char ***)((unsigned char *)mechanism + 8);
  if (fault("stale handle once")) { heal(); return KEY_HANDLE_INVALID; }
  if (fault("session lost once")) { heal(); return SESSION_HANDLE_INVALID; }
  if (fault("session lost")) return SESSION_HANDLE_INVALID;
  if (fault("removed")) return DEVICE_REMOVED;
  if (fault("device error")) return DEVICE_ERROR;
  if (fault("no value once")) { heal(); return MECHANISM_INVALID; }
  if (fault("no value")) return MECHANISM_INVALID;
  return OK;
}

static ulong_t encrypt(ulong_t session, unsigned char *data, ulong_t length, unsigned char *out, ulong_t *out_length) {
  if (fault("crash")) *(volatile int *)8 = 1;
  if (fault("hang")) sleep(1000);
  if (fault("exit")) exit(0);
  if (fault("garbage length")) { *out_length = 1UL << 62; return OK; }
  if (fault("length beyond room")) { *out_length += 1; return OK; }
  if (fault("scribble")) { (void)!write(3, "\377\377\377\377nonsense", 12); return OK; }
  if (fault("false frame")) { (void)!write(3, "\0\0\0\12\0\0\0\143\0\0\0\2{}", 14); return OK; }
  if (fault("vendor value")) return 0x80000123UL;
  if (fault("own iv")) memcpy(iv, own_iv, 12);
  for (ulong_t at = 0; at < length; at += 1) out[at] = fault("garbage data") ? 7 : data[at] + 1;
  *out_length = fault("short data") ? 3 : length;
  return OK;
}

static ulong_t decrypt(ulong_t session, unsigned char *data, ulong_t length, unsigned char *out, ulong_t *out_length) {
  if (fault("own iv") && memcmp(iv, own_iv, 12)) return ENCRYPTED_DATA_INVALID;
  for (ulong_t at = 0; at < length; at += 1) out[at] = fault("garbage data") ? 7 : data[at] - 1;
  *out_length = fault("short data") ? 3 : length;
  return OK;
}

static ulong_t unsupported(void) { return NOT_SUPPORTED; }

static struct { unsigned char version[8]; void *functions[68]; } list;

ulong_t C_GetFunctionList(void *pointer) {
  if (fault("no list")) { *(void **)pointer = NULL; return OK; }
  list.version[0] = fault("old version") ? 1 : 2;
  list.version[1] = 40;
  for (int at = 0; at < 68; at += 1) list.functions[at] = (void *)unsupported;
  list.functions[0] = (void *)initialize;
  list.functions[1] = (void *)finalize;
  list.functions[4] = (void *)get_slot_list;
  list.functions[6] = (void *)get_token_info;
  list.functions[7] = (void *)get_mechanism_list;
  list.functions[12] = (void *)open_session;
  list.functions[13] = (void *)close_session;
  list.functions[18] = (void *)login;
  list.functions[24] = (void *)get_attribute;
  list.functions[26] = (void *)find_init;
  list.functions[27] = (void *)find;
  list.functions[28] = (void *)find_final;
  list.functions[29] = (void *)cipher_init;
  list.functions[30] = (void *)encrypt;
  list.functions[33] = (void *)cipher_init;
  list.functions[34] = (void *)decrypt;
  *(void **)pointer = &list;
  return OK;
}
