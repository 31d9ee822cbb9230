import { failure } from '@warder/base'
import Type from 'typebox'
import { methodSettings } from '../../realms/method-settings.ts'
import type { Realm } from '../../realms/realm.ts'

export type TotpAlgorithm = 'SHA1' | 'SHA256' | 'SHA512'

/** Parameters of codes for users who enroll from now on. */
export interface TotpSettings {
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
