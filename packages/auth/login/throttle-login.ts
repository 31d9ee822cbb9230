import { failure } from '@warder/base'
import { bucketKey, type OperationContext } from '@warder/server'
import { isAdminName } from '../admins/admin-store.ts'
import { foldName, isUsername } from '../texts.ts'
import { type LoginLimitServices, LoginRefused, type LoginServices, refusal } from './method.ts'

type Context = OperationContext<LoginServices>

/** Takes one login from the bucket of the address. @throws failure('rate_limited') */
export function takeLogin({ services, request }: OperationContext<LoginLimitServices>): void {
  const verdict = services.loginBuckets.take(request.clientAddress)
  if (verdict.allowed) return
  throw failure('rate_limited', undefined, { retryAfterSeconds: verdict.retryAfterSeconds })
}

/**
 * Runs a login attempt as `username` under the counters of that name. One counter is for the address of the caller,
 * so that an attacker elsewhere cannot lock the user out. With a code, a second counter covers codes from all
 * addresses; only attempts with the right password increase it.
 * @throws the error of the attempt, with LoginRefused replaced by the common refusal
 */
export async function throttleLogin<R>(
  context: Context,
  name: { readonly realm: string; readonly username: string; readonly withCode: boolean },
  attempt: () => Promise<R>,
): Promise<R> {
  const { attempts, codeAttempts, failures } = context.services
  const folded = foldName(name.username)
  const client = bucketKey(context.request.clientAddress)
  const slot = failures.findSlot(name.realm, folded, client)
  const codes = failures.findSlot(name.realm, folded, 'codes')
  const run = (): Promise<R> => counting(context, name, { slot, codes }, attempt)
  if (!name.withCode) return attempts.run(client, slot, run)
  return attempts.run(client, slot, () => codeAttempts.run(client, codes, run))
}

async function counting<R>(
  context: Context,
  name: { readonly realm: string; readonly username: string },
  slots: { readonly slot: number; readonly codes: number },
  attempt: () => Promise<R>,
): Promise<R> {
  const { failures, now } = context.services
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof LoginRefused)) throw error
    // Users type passwords into the name field: only a valid name is recorded.
    if (isUsername(name.username)) context.audit({ object: name.username })
    if (error.guess !== undefined) await failures.count(slots.slot, now())
    if (error.guess === 'code') await failures.count(slots.codes, now())
    // Not awaited: the time of the reply does not depend on whether the name is that of an administrator.
    if (error.guess !== undefined) void announceFailure(context, name, error)
    throw auditRefusal(context, name.realm, error)
  }
}

/** Announces a wrong password or code of an administrator; many of one administrator are one notice in ten minutes. */
async function announceFailure(
  { services, request }: Context,
  { realm, username }: { readonly realm: string; readonly username: string },
  { reason }: LoginRefused,
): Promise<void> {
  const { notices, db, log } = services
  if (notices?.announces('login.failed') !== true || !isUsername(username)) return
  try {
    if (!(await isAdminName(db, realm, username))) return
    const about = { realm, user: username, reason, address: request.clientAddress }
    await notices.tell('login.failed', about, { object: `${realm}/${username}` })
  } catch (error) {
    log.warn({ error }, 'a failed login of an administrator could not be announced')
  }
}

/** Records the reason in the audit log and returns the common refusal of a login. */
export function auditRefusal(context: Context, realm: string, error: LoginRefused): Error {
  context.audit({ realm, reason: error.reason })
  return refusal(context.request.headers.origin !== undefined)
}

/** Resets the counter after a success. Writes only when it is not zero. */
export async function forgetFailures(context: Context, realm: string, username: string): Promise<void> {
  const { failures, now } = context.services
  const folded = foldName(username)
  for (const prefix of [bucketKey(context.request.clientAddress), 'codes']) {
    const slot = failures.findSlot(realm, folded, prefix)
    if ((await failures.state(slot, now())).failures > 0) await failures.clear(slot)
  }
}
