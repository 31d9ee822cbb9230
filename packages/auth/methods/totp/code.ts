import { createHmac, timingSafeEqual } from 'node:crypto'
import { failure } from '@warder/base'
import Type from 'typebox'
import { methodSettings, type Realm } from '../../realms/realm.ts'

export type TotpAlgorithm = 'SHA1' | 'SHA256' | 'SHA512'

/** Parameters of codes for users who enroll from now on. */
interface TotpSettings {
  readonly algorithm: TotpAlgorithm
  /** Seconds. */
  readonly step: number
}

const defaultSettings: TotpSettings = { algorithm: 'SHA1', step: 30 }

export const totpSettings = methodSettings(
  'totp_params',
  Type.Object({
    algorithm: Type.Optional(Type.String()),
    step: Type.Optional(Type.Integer({ minimum: 5, maximum: 300 })),
  }),
  ({ algorithm, step }, at): TotpSettings => ({
    algorithm:
      algorithm === undefined ? defaultSettings.algorithm : readAlgorithm(`${at}.algorithm`, algorithm),
    step: step ?? defaultSettings.step,
  }),
)

function readAlgorithm(member: string, name: string): TotpAlgorithm {
  const upper = name.toUpperCase()
  if (upper === 'SHA1' || upper === 'SHA256' || upper === 'SHA512') return upper
  throw failure('bad_request', `${member}: must be SHA1, SHA256 or SHA512.`)
}

/** Parameters of a code. */
export interface CodeParams {
  readonly algorithm: TotpAlgorithm
  /** Seconds. */
  readonly period: number
}

/** Reads the parameters of a realm, or the defaults. */
export function readCodeParams(realm: Realm): CodeParams {
  const { algorithm, step } = totpSettings.of(realm) ?? defaultSettings
  return { algorithm, period: step }
}

const digits = 6
/** Steps accepted on either side of the present one (RFC 6238 §5.2). */
const window = 1
const form = /^[0-9]{6}$/

/** The code of a step: HOTP (RFC 4226 §5.3) over the step number (RFC 6238 §4.2). */
export function codeAt(secret: Uint8Array, step: number, algorithm: TotpAlgorithm): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac(algorithm.toLowerCase(), secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0x0f
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/**
 * Finds the step of a code among the current step and its neighbours; undefined when none matches, or the text is not
 * exactly six ASCII digits. All candidates are compared, each in constant time.
 * @param now Unix seconds
 */
export function matchingStep(
  secret: Uint8Array,
  code: string,
  now: number,
  params: { readonly algorithm: TotpAlgorithm; readonly period: number },
): number | undefined {
  if (!form.test(code)) return undefined
  const given = Buffer.from(code)
  const present = Math.floor(now / params.period)
  let found: number | undefined
  for (let step = Math.max(0, present - window); step <= present + window; step++) {
    const right = timingSafeEqual(given, Buffer.from(codeAt(secret, step, params.algorithm)))
    if (right) found = step
  }
  return found
}
