import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  argumentCounts,
  attributes,
  flags,
  functionNames,
  keyTypes,
  maskGenerationFunctions,
  mechanisms,
  objectClasses,
  returnValues,
} from './constants.ts'
import { missingTools } from './testing/softhsm.ts'

const header = '/usr/include/p11-kit-1/p11-kit/pkcs11.h'
const skip = existsSync(header)
  ? missingTools('gcc')
  : 'the header of p11-kit is not installed (libp11-kit-dev)'

test('the numbers, the order of the functions and the structures are those of pkcs11.h', { skip }, (t) => {
  const numbers: Readonly<Record<string, number>> = {
    ...returnValues,
    ...attributes,
    ...mechanisms,
    ...flags,
    ...maskGenerationFunctions,
    CKO_PUBLIC_KEY: objectClasses.public,
    CKO_PRIVATE_KEY: objectClasses.private,
    CKO_SECRET_KEY: objectClasses.secret,
    CKK_RSA: keyTypes.RSA,
    CKK_EC: keyTypes.EC,
    CKK_GENERIC_SECRET: keyTypes.generic,
    CKK_AES: keyTypes.AES,
    CKK_EC_EDWARDS: keyTypes.OKP,
  }
  const structures = {
    'sizeof (CK_TOKEN_INFO)': 208,
    'offsetof (CK_TOKEN_INFO, flags)': 96,
    'offsetof (CK_TOKEN_INFO, model)': 64,
    'sizeof (CK_ATTRIBUTE)': 24,
    'offsetof (CK_ATTRIBUTE, ulValueLen)': 16,
    'sizeof (CK_MECHANISM)': 24,
    'sizeof (CK_GCM_PARAMS)': 48,
    'sizeof (CK_RSA_PKCS_PSS_PARAMS)': 24,
    'sizeof (CK_C_INITIALIZE_ARGS)': 48,
    'offsetof (CK_C_INITIALIZE_ARGS, flags)': 32,
    ...Object.fromEntries(
      functionNames.map((name, index) => [`offsetof (CK_FUNCTION_LIST, ${name})`, 8 + 8 * index]),
    ),
  }
  const named = Object.keys(numbers).map(
    (name) => `#ifdef ${name}\nprintf("${name}=%lu\\n", (unsigned long) ${name});\n#endif`,
  )
  const measured = Object.keys(structures).map((text) => `printf("${text}=%lu\\n", (unsigned long) ${text});`)
  const folder = mkdtempSync(join(tmpdir(), 'warder-header-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [source, program] = [join(folder, 'header.c'), join(folder, 'header')]
  const body = [...named, ...measured].join('\n')
  const includes = `#include <stdio.h>\n#include <stddef.h>\n#include "${header}"`
  writeFileSync(source, `${includes}\nint main(void) {\n${body}\nreturn 0;\n}\n`)
  execFileSync('gcc', ['-o', program, source])
  const found = execFileSync(program, { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.split('='))
    .map(([name = '', value]) => [name, Number(value)] as const)
  assert.ok(found.length > 190, `${found.length} are in the header`)
  const expected: Readonly<Record<string, number>> = { ...numbers, ...structures }
  assert.deepEqual(
    Object.fromEntries(found),
    Object.fromEntries(found.map(([name]) => [name, expected[name]])),
  )
})

test('each function that is called has its parameters', { skip }, () => {
  const text = execFileSync('gcc', ['-E', '-P', header], { encoding: 'utf8' })
  for (const [name, count] of Object.entries(argumentCounts)) {
    const [, parameters] =
      new RegExp(`\\bCK_${name}\\) ?\\(([^;]*)\\);|\\b${name} \\(([^;]*)\\);`).exec(text)?.filter(Boolean) ??
      []
    assert.equal(parameters?.split(',').length, count, name)
  }
})
