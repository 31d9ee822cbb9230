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
