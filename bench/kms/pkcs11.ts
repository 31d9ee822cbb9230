// A PKCS#11 token of SoftHSM through `openToken`, and through calls of its library from C, in turn:
// `node bench/kms/pkcs11.ts [--seconds 1] [--rounds 7] [--sessions 1]`. Needs SoftHSM, gcc and the header of p11-kit.
//
// The program in C makes one call after the other. Through us as many requests are under way as the sessions take. The
// second ratio is of processor time, ours of the process that has the library: this ratio is reliable on a busy
// machine, too.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openToken, type Token } from '@warder/pkcs11'
import { createSofthsmToken, missingSofthsm } from '@warder/pkcs11/testing'
import { median } from '../median.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '7' },
    sessions: { type: 'string', default: '1' },
  },
})
if (missingSofthsm !== false) throw new Error(missingSofthsm)
const [seconds, rounds, sessions] = [Number(values.seconds), Number(values.rounds), Number(values.sessions)]

const bareProgram = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <dlfcn.h>
#include "/usr/include/p11-kit-1/p11-kit/pkcs11.h"
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int count, char **args) {
  CK_RV (*get)(CK_FUNCTION_LIST **) = dlsym(dlopen(args[1], RTLD_NOW), "C_GetFunctionList");
  CK_FUNCTION_LIST *f; CK_SLOT_ID slots[8]; CK_ULONG n = 8; CK_SESSION_HANDLE s; CK_OBJECT_HANDLE key;
  get(&f); f->C_Initialize(NULL); f->C_GetSlotList(1, slots, &n);
  if (f->C_OpenSession(slots[0], CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &s)) return 1;
  if (f->C_Login(s, CKU_USER, (unsigned char *)args[2], strlen(args[2]))) return 2;
  int sign = !strcmp(args[3], "sign"); CK_OBJECT_CLASS class = sign ? CKO_PRIVATE_KEY : CKO_SECRET_KEY;
  CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}};
  if (f->C_FindObjectsInit(s, template, 1) || f->C_FindObjects(s, &key, 1, &n) || n != 1) return 3;
  f->C_FindObjectsFinal(s);
  unsigned char iv[12] = {1}, data[51] = {2}, out[4096];
  CK_GCM_PARAMS gcm = {iv, 12, 96, NULL, 0, 128};
  CK_MECHANISM m = sign ? (CK_MECHANISM){CKM_RSA_PKCS, NULL, 0} : (CK_MECHANISM){CKM_AES_GCM, &gcm, sizeof gcm};
  double start = now(), end = start + atof(args[4]); long done = 0;
  while (now() < end) {
    n = sizeof out;
    if (sign ? f->C_SignInit(s, &m, key) || f->C_Sign(s, data, 51, out, &n)
             : f->C_EncryptInit(s, &m, key) || f->C_Encrypt(s, data, 32, out, &n)) return 4;
    done += 1;
  }
  printf("%f %f\\n", done / (now() - start), done / ((double) clock() / CLOCKS_PER_SEC));
  return 0;
}`

/** Requests for each second, and for each second of processor time of the process that has the library. */
type Rate = readonly [wall: number, processor: number]

/** As many requests are under way as a session takes, for each session. */
async function driveToken(request: () => Promise<unknown>): Promise<Rate> {
  let done = 0
  const [start, startProcessor] = [performance.now(), readProcessorSeconds()]
  const end = start + 1000 * seconds
  const callers = Array.from({ length: 8 * sessions }, async () => {
    while (performance.now() < end) {
      await request()
      done += 1
    }
  })
  await Promise.all(callers)
  return [(1000 * done) / (performance.now() - start), done / (readProcessorSeconds() - startProcessor)]
}

/** Of the only child of this process; in ticks of 10 ms. */
function readProcessorSeconds(): number {
  const child = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim()
  const fields = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function compare(name: string, bare: () => Rate, request: () => Promise<unknown>): Promise<void> {
  await driveToken(request)
  const measured: (readonly [Rate, Rate])[] = []
  for (let round = 0; round < rounds; round += 1) measured.push([await driveToken(request), bare()])
  const middle = (value: (ours: Rate, theirs: Rate) => number): number =>
    median(measured.map(([ours, theirs]) => value(ours, theirs)))
  const [ours, theirs] = [middle(([wall]) => wall), middle((_, [wall]) => wall)]
  const ratio = middle(([own], [other]) => own / other)
  const processorRatio = middle(([, own], [, other]) => own / other)
  process.stdout.write(
    `${name}: ${ours.toFixed(0)} a second, from C ${theirs.toFixed(0)}, ratio ${ratio.toFixed(2)}; of processor time ${processorRatio.toFixed(2)}\n`,
  )
}

async function run(token: Token, bare: (operation: string) => Rate): Promise<void> {
  await token.generateKey('aes')
  await token.generateKeyPair('rsa', { rsaBits: 2048 })
  const [plaintext, data] = [Buffer.alloc(32, 2), Buffer.alloc(64, 2)]
  const encrypt = () => token.encrypt({ label: 'aes' }, plaintext)
  await compare('AES-GCM, 32 bytes', () => bare('encrypt'), encrypt)
  await compare(
    'RSA-2048 signature',
    () => bare('sign'),
    () => token.sign({ label: 'rsa' }, 'RS256', data),
  )
}

using softhsm = createSofthsmToken()
const { library, label, pinFile, pin, env, folder } = softhsm
const [source, program] = [join(folder, 'bare.c'), join(folder, 'bare')]
writeFileSync(source, bareProgram)
execFileSync('gcc', ['-O2', '-o', program, source])
const token = await openToken({ library, token: { label }, pinFile, env, sessions })
try {
  await run(token, (operation) => {
    const words = [library, pin, operation, String(seconds)]
    const [wall = 0, processor = 0] = execFileSync(program, words, { env, encoding: 'utf8' })
      .split(' ')
      .map(Number)
    return [wall, processor]
  })
} finally {
  await token.close()
}
