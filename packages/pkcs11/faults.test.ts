import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { requirePlatform } from './connection.ts'
import { encodeFrame, FrameReader, type TokenError } from './protocol.ts'
import { buildFaulty, missingFaulty } from './testing/faulty.ts'
import { openToken, type Token } from './token.ts'
import type { TokenOptions } from './token-sessions.ts'

const skip = missingFaulty
const folder = mkdtempSync(join(tmpdir(), 'warder-faulty-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const library = skip === false ? buildFaulty(folder) : ''

let count = 0
const name = 'the PKCS#11 token "faulty" of faulty.so'
const data = Buffer.from('HAL')
const key = { label: 'any' }

interface Faulty {
  readonly options: Omit<TokenOptions, 'pinFile'> & { readonly pinFile: string }
  open(): Promise<Token>
  setFault(fault: string | undefined): void
  countLogins(): number
  readonly lines: readonly string[]
}

/** A token of the faulty library with a folder of its own. */
function createFaulty(
  t: { after(end: () => Promise<void>): void },
  more: Partial<Omit<TokenOptions, 'pinFile'>> = {},
): Faulty {
  count += 1
  const own = (file: string): string => join(folder, `${count}-${file}`)
  const [faultFile, logins, pinFile] = [own('fault'), own('logins'), own('pin')]
  writeFileSync(pinFile, 'good', { mode: 0o600 })
  writeFileSync(logins, '')
  const lines: string[] = []
  const log: Logger = {
    ...quietLog,
    warn: (fields, line) => void lines.push(`${line} ${JSON.stringify(fields)}`),
  }
  const env = { ...process.env, FAULT_FILE: faultFile, LOGIN_LOG: logins }
  const options = { library, token: { label: 'faulty' }, pinFile, env, log, sessions: 2, ...more }
  return {
    options,
    lines,
    async open() {
      const token = await openToken(options)
      t.after(() => token.close())
      return token
    },
    setFault: (fault) =>
      fault === undefined ? rmSync(faultFile, { force: true }) : writeFileSync(faultFile, fault),
    countLogins: () => readFileSync(logins, 'utf8').length,
  }
}

async function encryptHal(token: Token): Promise<string> {
  return Buffer.from((await token.encrypt(key, data)).ciphertext).toString()
}

test('a library that exports C_GetFunctionList alone is called through its list', { skip }, async (t) => {
  const faulty = createFaulty(t)
  faulty.setFault('noise')
  const token = await faulty.open()
  assert.equal(await encryptHal(token), 'IBM')
  await assert.rejects(token.random(8), {
    code: 'not_supported',
    message: `${name}: C_GenerateRandom: CKR_FUNCTION_NOT_SUPPORTED`,
  })
})

/** Faults of C_Encrypt, and what is said. */
const failures: Readonly<Record<string, RegExp>> = {
  crash: /: the process of the library ended \(SIGSEGV\)$/,
  exit: /: the process of the library ended \(code 0\)$/,
  hang: /: the library has not responded for 2 s$/,
  'garbage length': /: the library returned the length 4611686018427387904, but at most 2051 fit$/,
  'length beyond room': /: the library returned the length 2052, but at most 2051 fit$/,
  'garbage search': /: the library returned the length 1000, but at most 2 fit$/,
  scribble: /: the process of the library sent a malformed reply: a frame of 4294967295 bytes$/,
  'false frame': /: the process of the library sent a malformed reply: a reply to no request$/,
}

for (const [fault, message] of Object.entries(failures))
  test(`a library with the fault "${fault}" fails its request by name, and serves the next one`, {
    skip,
  }, async (t) => {
    const faulty = createFaulty(t, { sessions: 1, timeoutMs: fault === 'hang' ? 2000 : 10_000 })
    const token = await faulty.open()
    if (fault !== 'garbage search') assert.equal(await encryptHal(token), 'IBM')
    faulty.setFault(fault)
    await assert.rejects(encryptHal(token), { code: 'library_failed', message })
    faulty.setFault(undefined)
    assert.equal(await encryptHal(token), 'IBM')
    assert.equal(faulty.countLogins(), 2)
    assert.equal(faulty.lines.length, 1)
  })

test('invalid lengths of lists and attributes are refused', { skip }, async (t) => {
  const faulty = createFaulty(t)
  for (const [fault, message] of [
    ['garbage slots', /the length 1152921504606846976, but at most 1024 fit$/],
    ['more slots than room', /the length 7, but at most 1 fit$/],
    ['garbage mechanisms', /the length 18446744073709551615, but at most 4096 fit$/],
    ['no list', /: C_GetFunctionList of .*faulty\.so: CKR_OK$/],
    ['old version', /faulty\.so is of PKCS#11 1\.40: 2\.x and 3\.x can be used$/],
  ] as const) {
    faulty.setFault(fault)
    await assert.rejects(openToken(faulty.options), { name: 'TokenError', message })
  }
  faulty.setFault(undefined)
  const token = await faulty.open()
  const none = await token.attributes('secret', key)
  assert.deepEqual(none, {})
  faulty.setFault('garbage attribute')
  await assert.rejects(token.attributes('secret', key), { code: 'library_failed' })
})

test('files that are no PKCS#11 library are refused', { skip }, async (t) => {
  const { options } = createFaulty(t)
  const missing = openToken({ ...options, library: join(folder, 'none.so') })
  await assert.rejects(missing, {
    code: 'library_unusable',
    message: /cannot load the PKCS#11 library .*none\.so/,
  })
  const other = join(folder, 'other.so')
  spawnSync('gcc', ['-shared', '-fPIC', '-o', other, '-x', 'c', '-'], {
    input: 'int other(void) { return 1; }',
  })
  await assert.rejects(openToken({ ...options, library: other }), {
    code: 'library_unusable',
    message: `the PKCS#11 token "faulty" of other.so: ${other} is no PKCS#11 library: it has no C_GetFunctionList`,
  })
})

test('the IV that a token makes by itself is that of the result', { skip }, async (t) => {
  const faulty = createFaulty(t, { sessions: 1 })
  faulty.setFault('own iv')
  const token = await faulty.open()
  const encrypted = await token.encrypt(key, data)
  assert.equal(Buffer.from(encrypted.iv).toString(), 'madebyTOKEN!')
  assert.equal((await token.decrypt(key, encrypted)).toString(), 'HAL')
  const other = { ...encrypted, iv: Buffer.alloc(12) }
  await assert.rejects(token.decrypt(key, other), { code: 'invalid_data' })
})

test('a wrong PIN reaches the token once, for all sessions, requests and starts, until its file changes', {
  skip,
}, async (t) => {
  const faulty = createFaulty(t, { sessions: 4 })
  writeFileSync(faulty.options.pinFile, 'evil')
  for (let attempt = 0; attempt < 3; attempt += 1)
    await assert.rejects(openToken(faulty.options), { code: 'login_refused', message: /CKR_PIN_INCORRECT/ })
  assert.equal(faulty.countLogins(), 1)
  writeFileSync(faulty.options.pinFile, 'good')
  const token = await faulty.open()
  assert.equal(faulty.countLogins(), 2)
  // The PIN becomes wrong while the token is open: all sessions are lost with the process, and log in again.
  writeFileSync(faulty.options.pinFile, 'evil')
  faulty.setFault('crash')
  const lost = await Promise.allSettled(Array.from({ length: 12 }, () => encryptHal(token)))
  assert.ok(lost.every(({ status }) => status === 'rejected'))
  faulty.setFault(undefined)
  await Promise.allSettled(Array.from({ length: 12 }, () => encryptHal(token)))
  assert.equal(faulty.countLogins(), 3)
})

test('a token whose PIN is locked, or has one attempt left, is not logged in to', { skip }, async (t) => {
  const faulty = createFaulty(t)
  for (const [fault, message] of [
    ['locked', /: the login is refused: its PIN is locked; its security officer can set a new one$/],
    ['final try', /: the login is refused: one attempt is left before its PIN is locked;/],
  ] as const) {
    faulty.setFault(fault)
    await assert.rejects(openToken(faulty.options), { code: 'login_refused', message })
  }
  assert.equal(faulty.countLogins(), 0)
})

test('a session that the token has closed is opened again within its request', { skip }, async (t) => {
  const faulty = createFaulty(t, { sessions: 1 })
  const token = await faulty.open()
  assert.equal(await encryptHal(token), 'IBM')
  const before = listChildren()
  faulty.setFault('session lost once')
  assert.equal(await encryptHal(token), 'IBM')
  assert.deepEqual(listChildren(), before)
  // Where that does not help, a new process is tried once.
  faulty.setFault('session lost')
  await assert.rejects(encryptHal(token), {
    code: 'token_unavailable',
    message: `${name}: C_EncryptInit: CKR_SESSION_HANDLE_INVALID`,
  })
  faulty.setFault(undefined)
  assert.equal(await encryptHal(token), 'IBM')
  assert.equal(listChildren().length, before.length)
})

test('a handle that the token no longer knows is searched again, once', { skip }, async (t) => {
  const faulty = createFaulty(t, { sessions: 1 })
  const token = await faulty.open()
  faulty.setFault('stale handle once')
  await assert.rejects(encryptHal(token), { message: `${name}: C_EncryptInit: CKR_KEY_HANDLE_INVALID` })
  assert.equal(await encryptHal(token), 'IBM')
  faulty.setFault('stale handle once')
  assert.equal(await encryptHal(token), 'IBM')
})

test('a token that is removed fails by name, less and less often, and serves when it is back', {
  skip,
}, async (t) => {
  const faulty = createFaulty(t)
  const token = await faulty.open()
  assert.equal(await encryptHal(token), 'IBM')
  faulty.setFault('removed')
  await assert.rejects(encryptHal(token), {
    code: 'token_not_found',
    message: `${name}: the library has no such token: it has none`,
  })
  await assert.rejects(encryptHal(token), { code: 'token_not_found' })
  const messages: string[] = []
  while (!/it has none; tried again in \d+ s$/.test(messages.at(-1) ?? '') && messages.length < 8)
    messages.push(await encryptHal(token).catch((error: Error) => error.message))
  assert.ok(messages.length < 8, messages.join('\n'))
  faulty.setFault(undefined)
  const deadline = performance.now() + 60_000
  for (;;) {
    const text = await encryptHal(token).catch((error: Error) => error)
    if (text === 'IBM') break
    assert.ok(text instanceof Error && performance.now() < deadline, String(text))
    await delay(100)
  }
})

test('an error of the device is that of its request alone, as a value of the vendor is', {
  skip,
}, async (t) => {
  const faulty = createFaulty(t, { sessions: 1 })
  const token = await faulty.open()
  faulty.setFault('device error')
  await assert.rejects(encryptHal(token), {
    code: 'token_unavailable',
    message: `${name}: C_EncryptInit: CKR_DEVICE_ERROR`,
  })
  faulty.setFault('vendor value')
  await assert.rejects(encryptHal(token), { code: 'token_error', message: `${name}: C_Encrypt: 0x80000123` })
  faulty.setFault(undefined)
  assert.equal(await encryptHal(token), 'IBM')
  assert.deepEqual(faulty.lines, [])
})

test('a library that hangs at its start is given up', { skip }, async (t) => {
  const faulty = createFaulty(t, { timeoutMs: 100 })
  faulty.setFault('hang at start')
  await assert.rejects(openToken(faulty.options), {
    message: `${name}: the library has not responded for 0.6 s`,
  })
  assert.deepEqual(listChildren(), [])
})

test('a process that is killed in the middle rejects all its requests, and is replaced', {
  skip,
}, async (t) => {
  const faulty = createFaulty(t)
  const token = await faulty.open()
  faulty.setFault('hang')
  const requests = Promise.allSettled(Array.from({ length: 4 }, () => encryptHal(token)))
  await delay(300)
  const [child = 0] = listChildren()
  process.kill(child, 'SIGKILL')
  const codes = (await requests).map((one) =>
    one.status === 'rejected' ? (one.reason as TokenError).message : '',
  )
  assert.deepEqual([...new Set(codes)], [`${name}: the process of the library ended (SIGKILL)`])
  faulty.setFault(undefined)
  assert.equal(await encryptHal(token), 'IBM')
  await token.close()
  assert.deepEqual(listChildren(), [])
})

test('the last words of a library that ended are in the log', { skip }, async (t) => {
  const faulty = createFaulty(t)
  faulty.setFault('noise')
  const token = await faulty.open()
  faulty.setFault('crash')
  await assert.rejects(encryptHal(token))
  await token.close()
  assert.match(faulty.lines.join(), /ended \(SIGSEGV\) \{"errorOutput":"last words of the library\\n/)
})

test('Windows and systems of other sizes are refused by name', () => {
  assert.throws(() => requirePlatform('win32', 'x64'), { message: /on Linux and macOS, not on Windows$/ })
  assert.throws(() => requirePlatform('linux', 'arm'), { message: /cannot be used on the architecture arm$/ })
  requirePlatform('darwin', 'arm64')
})

test('frames come whole from any pieces, and malformed ones are refused', () => {
  const frames = [
    encodeFrame(1, { result: 'ä' }, [Buffer.from('one'), Buffer.alloc(0)]),
    encodeFrame(0xffffffff, { result: null }),
  ]
  const stream = Buffer.concat(frames)
  for (const size of [1, 3, 7, stream.length]) {
    const reader = new FrameReader()
    const read = Array.from({ length: Math.ceil(stream.length / size) }, (_, index) =>
      reader.push(stream.subarray(index * size, (index + 1) * size)),
    ).flat()
    assert.deepEqual(read, [
      { id: 1, header: { result: 'ä' }, parts: [Buffer.from('one'), Buffer.alloc(0)] },
      { id: 0xffffffff, header: { result: null }, parts: [] },
    ])
  }
  const [good = Buffer.alloc(0)] = frames
  for (let at = 0; at < good.length; at += 1) {
    const changed = Buffer.from(good)
    changed[at] = 0xff
    const reader = new FrameReader()
    try {
      reader.push(changed)
    } catch (error) {
      assert.ok(error instanceof Error)
    }
  }
  assert.throws(
    () => new FrameReader().push(Buffer.from('0000000400000000', 'hex')),
    /shorter than its header/,
  )
  assert.throws(() => encodeFrame(1, { result: null }, [Buffer.alloc(300_000)]), RangeError)
})

/** Processes of this one that have a library, and have not ended. */
function listChildren(): readonly number[] {
  return readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((pid) => pid !== '')
      .map(Number)
      .filter((pid) => {
        try {
          return (
            readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('token-process') &&
            readlinkSync(`/proc/${pid}/exe`) !== ''
          )
        } catch {
          return false
        }
      }),
  )
}
