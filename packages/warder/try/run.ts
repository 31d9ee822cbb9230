import { createHash, randomBytes } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { type HttpsClient, openClient, type Server } from '@warder/command-line/https-client'
import {
  abbreviate,
  createSteps,
  expectJson,
  expectStatus,
  expectText,
  type Steps,
  TryFailed,
} from './step.ts'

export interface TryOptions {
  readonly auth: Server
  readonly kms: Server
  readonly realm: string
  readonly username: string
  readonly password: string
  /** A real file to encrypt, decrypt and compare. */
  readonly file: string | undefined
  /** false: only logs in and out, for a kms that serves no keys. */
  readonly withKeys?: boolean
  readonly out: (line: string) => void
}

interface Kms {
  ask(path: string, json: unknown): Promise<Readonly<Record<string, unknown>>>
}

/**
 * Runs the steps of a new user on running services: log in, change a password, create keys, encrypt, decrypt, sign, verify,
 * MAC, delete, log out. Each step shows its result. Temporary objects are removed.
 * @returns the number of steps that passed
 * @throws TryFailed at the first step that does not
 */
export async function tryServices(options: TryOptions): Promise<number> {
  const steps = createSteps(options.out)
  const auth = openClient(options.auth)
  const kms = openClient(options.kms)
  try {
    await steps.step(
      'auth answers',
      () => auth.ask('/public/version'),
      ({ text }) => `version ${text}`,
    )
    await steps.step(
      'kms is healthy',
      async () => expectJson(await kms.ask('/health'), 200),
      ({ status }) => `${status}`,
    )
    const cookie = await logIn(steps, auth, options)
    const authorization = `Bearer ${cookie.slice('_ea_='.length)}`
    await steps.step(
      'the kms knows me',
      async () => expectJson(await kms.ask('/me', { headers: { authorization } }), 200),
      ({ user }) => `${user}`,
    )
    if (options.withKeys !== false) {
      await changePassword(steps, auth, cookie, options.realm)
      await useKeys(steps, kms, authorization, options.file)
    }
    await logOut(steps, auth, cookie, options.realm)
    return steps.passed
  } finally {
    auth.close()
    kms.close()
  }
}

async function useKeys(
  steps: Steps,
  kms: HttpsClient,
  authorization: string,
  file: string | undefined,
): Promise<void> {
  const bearer: Kms = {
    ask: async (path, json) => expectJson(await kms.ask(path, { json, headers: { authorization } }), 200),
  }
  await steps.step(
    'the kms refuses a request without a token',
    async () => expectStatus(await kms.ask('/v1/crypto/keys', { json: { kty: 'oct', alg: 'A256GCM' } }), 401),
    () => '401',
  )
  const made: string[] = []
  try {
    await encryptAndDecrypt(steps, bearer, made, file)
    await wrapWithRsa(steps, bearer, made)
    await signAndVerify(steps, bearer, made)
    await authenticateMessage(steps, bearer, made)
  } finally {
    await steps.step(
      'delete the keys',
      async () => {
        let waiting = 0
        for (const kid of made) {
          const deletion = { method: 'DELETE', headers: { authorization } } as const
          // 202: by its settings the service destroys keys some days later.
          if (expectStatus(await kms.ask(`/v1/crypto/keys/${kid}`, deletion), 204, 202) === 202) waiting += 1
        }
        return waiting
      },
      (waiting) =>
        waiting === 0 ? `${made.length} deleted` : `${made.length} deleted, ${waiting} of them wait for it`,
    )
  }
}

async function logIn(steps: Steps, auth: HttpsClient, options: TryOptions): Promise<string> {
  const realm = encodeURIComponent(options.realm)
  const basic = Buffer.from(`${options.username}:${options.password}`).toString('base64')
  const cookie = await steps.step(
    'log in with a password',
    async () => {
      const answer = await auth.ask(`/login?realm=${realm}`, {
        json: {},
        headers: { authorization: `Basic ${basic}` },
      })
      const { next_step } = expectJson(answer, 200)
      if (next_step !== 'Authenticated') throw new TryFailed(`the next step is ${next_step}: finish it first`)
      const [header] = [answer.headers['set-cookie']].flat()
      const value = header?.split(';')[0]
      if (value === undefined || !value.startsWith('_ea_=')) throw new TryFailed('no _ea_ cookie came back')
      return value
    },
    (value) => abbreviate(value),
  )
  await steps.step(
    'ask who I am',
    async () => expectJson(await auth.ask(`/whoami?realm=${realm}`, { headers: { cookie } }), 200),
    ({ sub, as_rid }) => `${sub} of realm ${as_rid}`,
  )
  return cookie
}

/** Changes the password of a temporary user, if the caller may create users. */
async function changePassword(steps: Steps, auth: HttpsClient, cookie: string, realm: string): Promise<void> {
  const username = `warder-try-${randomBytes(6).toString('hex')}`
  const users = `/realms/${encodeURIComponent(realm)}/userpass`
  const [first, second] = [randomBytes(24).toString('base64url'), randomBytes(24).toString('base64url')]
  const basic = (password: string) => ({
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
  })
  const logsIn = async (password: string): Promise<number> =>
    (await auth.ask(`/login?realm=${encodeURIComponent(realm)}`, { json: {}, headers: basic(password) }))
      .status
  const json = { username, password_input: { plaintext: first } }
  const status = await steps.step(
    'make a user',
    async () => expectStatus(await auth.ask(users, { json, headers: { cookie } }), 201, 403),
    (answered) => (answered === 201 ? username : '403: only administrators make users, so none is tried'),
  )
  if (status === 403) return
  try {
    await steps.step(
      'change the password of that user',
      async () => {
        const change = { json: { new_password: second }, headers: basic(first) }
        expectStatus(await auth.ask(`/password?realm=${encodeURIComponent(realm)}`, change), 204)
        const answers = [await logsIn(second), await logsIn(first)]
        if (answers.join() !== '200,401')
          throw new TryFailed(`logins with the new and the old password answered ${answers.join(' and ')}`)
      },
      () => 'the new one logs in, the old one does not',
    )
  } finally {
    await steps.step(
      'delete that user',
      async () =>
        expectStatus(await auth.ask(`${users}/${username}`, { method: 'DELETE', headers: { cookie } }), 204),
      () => '204',
    )
  }
}

async function logOut(steps: Steps, auth: HttpsClient, cookie: string, realm: string): Promise<void> {
  await steps.step(
    'log out, and the session is worth nothing',
    async () => {
      const who = expectJson(
        await auth.ask(`/whoami?realm=${encodeURIComponent(realm)}`, { headers: { cookie } }),
        200,
      )
      const ids = { session_ids: [expectText(who.jti, 'jti')] }
      expectStatus(await auth.ask('/sessions', { method: 'DELETE', json: ids, headers: { cookie } }), 204)
      expectStatus(await auth.ask(`/whoami?realm=${encodeURIComponent(realm)}`, { headers: { cookie } }), 401)
    },
    () => '204, then 401',
  )
}

async function makeKey(
  steps: Steps,
  kms: Kms,
  made: string[],
  request: Record<string, unknown>,
): Promise<Readonly<Record<string, unknown>>> {
  const name = [request.kty, request.alg ?? request.crv ?? request.bits].filter(Boolean).join(' ')
  const key = await steps.step(
    `make a key: ${name}`,
    () => kms.ask('/v1/crypto/keys', request),
    ({ kid }) => `kid ${kid}`,
  )
  made.push(expectText(key.kid, 'kid'))
  return key
}

async function encryptAndDecrypt(
  steps: Steps,
  kms: Kms,
  made: string[],
  file: string | undefined,
): Promise<void> {
  const { kid } = await makeKey(steps, kms, made, { kty: 'oct', alg: 'A256GCM' })
  const data = Buffer.from('attack at dawn').toString('base64url')
  const sealed = await steps.step(
    'encrypt "attack at dawn"',
    () => kms.ask('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }),
    ({ ciphertext }) => `ciphertext ${ciphertext}`,
  )
  await steps.step(
    'decrypt it',
    async () => sameData(await kms.ask('/v1/crypto/decrypt', sealed), data),
    (plain) => `"${Buffer.from(plain, 'base64url').toString()}"`,
  )
  if (file !== undefined) await roundTripFile(steps, kms, expectText(kid, 'kid'), file)
}

async function wrapWithRsa(steps: Steps, kms: Kms, made: string[]): Promise<void> {
  const { kid } = await makeKey(steps, kms, made, { kty: 'RSA', bits: 2048 })
  const data = randomBytes(32).toString('base64url')
  await steps.step(
    'encrypt and decrypt with RSA-OAEP-256',
    async () => {
      const sealed = await kms.ask('/v1/crypto/encrypt', { kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data })
      return sameData(await kms.ask('/v1/crypto/decrypt', sealed), data)
    },
    () => '32 random bytes came back',
  )
}

async function signAndVerify(steps: Steps, kms: Kms, made: string[]): Promise<void> {
  const { kid } = await makeKey(steps, kms, made, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const data = Buffer.from('I owe you one').toString('base64url')
  const signed = await steps.step(
    'sign "I owe you one" with ES256',
    () => kms.ask('/v1/crypto/sign', { kid, alg: 'ES256', data }),
    ({ signature }) => abbreviate(`signature ${signature}`),
  )
  await steps.step(
    'verify it, and a changed text',
    async () => {
      const changed = Buffer.from('I owe you two').toString('base64url')
      const right = await kms.ask('/v1/crypto/verify', { ...signed, data })
      const wrong = await kms.ask('/v1/crypto/verify', { ...signed, data: changed })
      if (right.valid !== true || wrong.valid !== false) throw new TryFailed('verification came out wrong')
    },
    () => 'valid: true, then valid: false',
  )
}

async function authenticateMessage(steps: Steps, kms: Kms, made: string[]): Promise<void> {
  const { kid } = await makeKey(steps, kms, made, { kty: 'oct', alg: 'HS256' })
  const data = Buffer.from('message').toString('base64url')
  await steps.step(
    'compute and check a MAC with HS256',
    async () => {
      const { mac } = await kms.ask('/v1/crypto/mac', { kid, alg: 'HS256', data })
      const { valid } = await kms.ask('/v1/crypto/mac', { kid, alg: 'HS256', data, mac })
      if (valid !== true) throw new TryFailed('the MAC did not verify')
      return expectText(mac, 'mac')
    },
    (mac) => abbreviate(mac),
  )
}

const chunkBytes = 1024 * 1024

async function roundTripFile(steps: Steps, kms: Kms, kid: string, file: string): Promise<void> {
  await steps.step(
    `encrypt and decrypt ${file}`,
    async () => {
      const { size } = await stat(file)
      const chunks = Math.max(1, Math.ceil(size / chunkBytes))
      const before = createHash('sha256')
      const after = createHash('sha256')
      await using handle = await open(file, 'r')
      for (let index = 0; index < chunks; index += 1) {
        const { buffer, bytesRead } = await handle.read(
          Buffer.alloc(chunkBytes),
          0,
          chunkBytes,
          index * chunkBytes,
        )
        const plain = buffer.subarray(0, bytesRead)
        before.update(plain)
        const data = plain.toString('base64url')
        // The chunk's place is authenticated with it, so that chunks cannot be dropped or swapped.
        const aad = Buffer.from(`${index + 1}/${chunks}`).toString('base64url')
        const sealed = await kms.ask('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data, aad })
        const opened = await kms.ask('/v1/crypto/decrypt', sealed)
        after.update(Buffer.from(expectText(opened.data, 'data'), 'base64url'))
      }
      const [left, right] = [before.digest('hex'), after.digest('hex')]
      if (left !== right) throw new TryFailed('the decrypted file differs from the original')
      return { size, left }
    },
    ({ size, left }) => `${size} bytes, SHA-256 ${left.slice(0, 16)}... both`,
  )
}

function sameData(answer: Readonly<Record<string, unknown>>, data: string): string {
  const plain = expectText(answer.data, 'data')
  if (plain !== data) throw new TryFailed('the decrypted text differs from the original')
  return plain
}
