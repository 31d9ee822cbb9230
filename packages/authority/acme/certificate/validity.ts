import type { Authority } from '../../signing/authority.ts'
import { acmeProblem } from '../protocol/problem.ts'
import type { Order } from '../stored/order-store.ts'

const day = 86_400_000
/** Certificates are backdated, since the clock of a verifier may be slow. */
const backdateMs = 3_600_000

/**
 * Chooses the validity of a certificate: that of the directory, or a shorter one if the client requests it, within the
 * validity of the authority.
 * @throws malformed when the client requests a longer validity
 */
export function chooseValidity(
  { notBefore, notAfter }: Pick<Order, 'notBefore' | 'notAfter'>,
  days: number,
  { parsed, settings }: Pick<Authority, 'parsed' | 'settings'>,
  now: number,
): { readonly notBefore: number; readonly notAfter: number } {
  const maxMs = Math.min(days, settings.maxDays ?? days) * day
  const begin = notBefore ?? Math.max(now - backdateMs, parsed.notBefore)
  // If the certificate begins later, its days still count from now: the right to issue it and the control of its names
  // were checked now.
  const latest = Math.min(begin + maxMs, now + maxMs, parsed.notAfter)
  if (notBefore !== undefined && notBefore < now - backdateMs)
    throw acmeProblem('malformed', "'notBefore' of the order has passed.")
  if (begin >= latest)
    throw acmeProblem('malformed', `'notBefore' of the order may be at most ${maxMs / day} days ahead.`)
  if (notAfter !== undefined && notAfter > latest)
    throw acmeProblem('malformed', `Certificates are issued for at most ${maxMs / day} days here.`)
  return { notBefore: begin, notAfter: notAfter ?? latest }
}
