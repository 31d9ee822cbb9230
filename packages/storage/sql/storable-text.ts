import { failure } from '@warder/base'
import type { SqlValue } from './types.ts'

/**
 * The one rule for texts that reach a database, whichever they came by: PostgreSQL has no U+0000 in a text, and both
 * engines would store another text in place of half of a surrogate pair (Unicode D75), so that two names became one.
 * @throws failure('bad_request')
 */
export function requireStorableText(params: readonly SqlValue[]): void {
  for (const value of params)
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
      throw failure('bad_request', 'A string must not contain the character U+0000 or an unpaired surrogate.')
}
