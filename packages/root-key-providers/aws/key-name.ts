import { StartupError } from '@warder/base'
import { aliasForm, arnForm } from '../cloud-settings.ts'

/** Parts of a key name; a name without ARN has no partition, region and account, and an alias no id. */
export interface AwsKeyName {
  readonly partition?: string | undefined
  readonly region?: string | undefined
  readonly account?: string | undefined
  readonly id?: string | undefined
}

/** @param name as the check of the setting admits it */
export function parseAwsKey(name: string): AwsKeyName {
  const match = arnForm.exec(name)
  if (match === null) return aliasForm.test(name) ? {} : { id: name }
  const [, partition, region, account, id] = match
  return { partition, region, account, id }
}

/**
 * Requires that a reply names the configured key: AWS KMS replies with the ARN of the key that it used.
 * @returns that ARN
 * @throws StartupError
 */
export function requireSameKey(
  replied: unknown,
  key: AwsKeyName,
  { endpoint, region }: { readonly endpoint: string; readonly region: string },
): string {
  const used = typeof replied === 'string' ? parseAwsKey(replied) : {}
  if (typeof replied !== 'string' || used.account === undefined || used.id === undefined)
    throw new StartupError(`${endpoint} replied without the ARN of its key: is it AWS KMS?`)
  const isConfigured =
    used.region === region &&
    (['partition', 'account', 'id'] as const).every(
      (part) => key[part] === undefined || key[part] === used[part],
    )
  if (!isConfigured)
    throw new StartupError(`${endpoint} used the key ${replied}, which is not root_key_aws.key`)
  return replied
}

/** Whether two ARNs name one key; a multi-Region key has one ARN in each region, with the same id and key material. */
export function isSameKey(one: string, other: string): boolean {
  if (one === other) return true
  const [a, b] = [parseAwsKey(one), parseAwsKey(other)]
  return (
    a.id?.startsWith('mrk-') === true &&
    (['partition', 'account', 'id'] as const).every((part) => a[part] === b[part])
  )
}
