import { failure } from '@warder/base'
import Type from 'typebox'

/**
 * Text of a request that is stored in a column or used in a query. It must not contain control characters: PostgreSQL
 * does not support NUL, and no valid name contains the others.
 */
export function PlainText(size: {
  readonly minLength?: number
  readonly maxLength: number
  readonly description?: string
}) {
  return Type.String({ ...size, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })
}

/** Key sets are fetched over https only; a user name or password in a URL would end up in logs. */
export function requireHttps(member: string, text: string): void {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw failure('bad_request', `${member}: must be an https URL without user name or password.`)
  }
}
