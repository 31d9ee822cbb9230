import Type from 'typebox'

/**
 * Text of a request that ends up as a value of a column, or is looked for in one. It holds no control characters:
 * PostgreSQL has no text with a NUL in it, and no name of ours has one of the others.
 */
export function PlainText(size: {
  readonly minLength?: number
  readonly maxLength: number
  readonly description?: string
}) {
  return Type.String({ ...size, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })
}
