import type { Authority } from '../../../authority/index.ts'
import { acmeProblem } from '../protocol/problem.ts'
import type { Order } from '../stored/order-store.ts'

const day = 86_400_000
/** Clocks of those who verify may be late. */
const backdateMs = 3_600_000

/**
 * When a certificate is valid: as the directory says, or for less where the client asks for less, and within the
 * validity of the authority.
 * @throws malformed when the client asks for more
 */
export function chooseValidity(
  { notBefore, notAfter }: Pick<Order, 'notBefore' | 'notAfter'>,
  days: number,
  { parsed, settings }: Pick<Authority, 'parsed' | 'settings'>,
  now: number,
): { readonly notBefore: number; readonly notAfter: number } {
  const maxMs = Math.min(days, settings.maxDays ?? days) * day
  const begin = notBefore ?? Math.max(now - backdateMs, parsed.notBefore)
  // The days count from now where the certificate begins later: the right to have it issued, and the control of its names,
  // were looked at now.
  const latest = Math.min(begin + maxMs, now + maxMs, parsed.notAfter)
  if (notBefore !== undefined && notBefore < now - backdateMs)
    throw acmeProblem('malformed', "'notBefore' of the order has passed.")
  if (begin >= latest)
    throw acmeProblem('malformed', `'notBefore' of the order may be at most ${maxMs / day} days ahead.`)
  if (notAfter !== undefined && notAfter > latest)
    throw acmeProblem('malformed', `Certificates are issued for at most ${maxMs / day} days here.`)
  return { notBefore: begin, notAfter: notAfter ?? latest }
}
