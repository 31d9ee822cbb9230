import assert from 'node:assert/strict'
import type { Installation } from 'warder/testing'

/** Users of the realm `_`, and calls of the key management service in their name. */
export interface Users {
  /** @throws AssertionError unless it succeeds @returns the JSON of the reply */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  call(user: string, method: string, path: string, json?: object): Promise<any>
  /** The same, without a check: the status and the text of the reply. */
  ask(
    user: string,
    method: string,
    path: string,
    json?: object,
  ): Promise<{ readonly status: number; readonly text: string }>
}

/** Creates users with the passwords `the password of NAME`, and logs them in. */
export async function createUsers(installation: Installation, names: readonly string[]): Promise<Users> {
  const tokens = new Map([['admin', await installation.adminToken()]])
  const auth = installation.client('auth')
  try {
    const cookie = `_ea_=${tokens.get('admin')}`
    for (const username of names) {
      const password = `the password of ${username}`
      const json = { username, password_input: { plaintext: password } }
      const made = await auth.ask('/realms/_/userpass', { json, headers: { cookie } })
      assert.ok(made.status < 400, made.text)
      const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
      const { headers } = await auth.ask('/login?realm=_', { json: {}, headers: { authorization } })
      tokens.set(username, /^_ea_=([^;]+)/.exec([headers['set-cookie']].flat()[0] ?? '')?.[1] ?? '')
    }
  } finally {
    auth.close()
  }
  const ask: Users['ask'] = async (user, method, path, json) => {
    const kms = installation.client('kms')
    const headers = { authorization: `Bearer ${tokens.get(user)}` }
    const answer = await kms.ask(path, { method, headers, ...(json !== undefined && { json }) })
    kms.close()
    return answer
  }
  return {
    ask,
    async call(user, method, path, json) {
      const { status, text } = await ask(user, method, path, json)
      assert.ok(status < 400, `${method} ${path}: ${status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
  }
}
