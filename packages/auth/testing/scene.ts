import assert from 'node:assert/strict'
import type { Answer } from './client.ts'
import { knownHash, knownPassword, type TestService } from './start.ts'

/** Setup of a test: realms, users, administrators, sessions. */
export interface Scene {
  /** A realm with passwords; members given replace those of the default. */
  realm(id: string, members?: Record<string, unknown>): Promise<void>
  /** A user whose password is `correct horse`. */
  user(realm: string, username: string, members?: Record<string, unknown>): Promise<void>
  admin(id: string, realms: readonly string[], members?: Record<string, unknown>): Promise<void>
  /** Cookie of a user made by `user`. */
  logIn(realm: string, username: string): Promise<string>
  /** A call of the super admin. */
  asSuper(method: string, path: string, json?: unknown): Promise<Answer>
  /** A call with a cookie. */
  as(cookie: string, method: string, path: string, json?: unknown): Promise<Answer>
}

export function scene(auth: TestService): Scene {
  const as = (cookie: string, method: string, path: string, json?: unknown): Promise<Answer> =>
    auth.call(method, path, { cookie, json })
  const asSuper = async (method: string, path: string, json?: unknown): Promise<Answer> =>
    as(await auth.superCookie(), method, path, json)
  const made = (answer: Answer): void => assert.equal(answer.status, 201, answer.text)
  return {
    as,
    asSuper,
    async realm(id, members = {}) {
      made(
        await asSuper('POST', '/admins/realms', {
          id,
          auth_params: { username_password_params: { allow_expired_passwords: false } },
          session_max_age_seconds: 3600,
          session_max_stale_age_seconds: 600,
          ...members,
        }),
      )
    },
    async user(realm, username, members = {}) {
      const json = { username, password_input: { hashed: knownHash }, ...members }
      made(await asSuper('POST', `/realms/${realm}/userpass`, json))
    },
    async admin(id, realms, members = {}) {
      made(await asSuper('POST', '/admins', { id, realms, ...members }))
    },
    logIn: (realm, username) => auth.logIn(realm, `${username}:${knownPassword}`),
  }
}
