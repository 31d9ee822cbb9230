import { covercryptError } from '../error.ts'

/** Bytes of the name of a dimension or of an attribute. */
const maxNameBytes = 255

/** Between the name of a dimension and that of an attribute. */
const separator = '::'

/** The name of an attribute with that of its dimension. */
export interface AttributeName {
  readonly dimension: string
  readonly name: string
}

/**
 * Validates a name for use in policies: not empty, no surrounding blanks, no `::`, none of `( ) & |`, no control
 * characters, and no leading `*`.
 *
 * @throws CovercryptError invalid_structure
 */
export function checkName(name: string, what: string): string {
  const shown = JSON.stringify(name.slice(0, 40))
  const refuse = (reason: string): never => {
    throw covercryptError('invalid_structure', `The name ${shown} of ${what} cannot be used: ${reason}.`)
  }
  if (name === '') refuse('it is empty')
  if (Buffer.byteLength(name) > maxNameBytes) refuse(`it exceeds ${maxNameBytes} bytes`)
  if (!name.isWellFormed()) refuse('it is not Unicode text')
  if (name !== name.trim()) refuse('blanks surround it')
  if (/::|^:|:$/.test(name))
    refuse('it contains ::, or begins or ends with a colon; :: separates a dimension from an attribute')
  if (/[()&|]/.test(name)) refuse('it contains one of ( ) & |, which policies use as operators')
  if (/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u.test(name)) refuse('it contains a control or invisible character')
  if (name.startsWith('*')) refuse('it begins with *, which means every right')
  return name
}

/**
 * Reads `Dimension::Name`: one `::` and no colon beside it, neither side empty, blanks around both cut.
 *
 * @throws CovercryptError invalid_policy
 */
export function parseAttributeName(text: string): AttributeName {
  const [dimension, name, more] = text.split(separator, 3)
  const attribute = { dimension: (dimension ?? '').trim(), name: (name ?? '').trim() }
  if (attribute.dimension === '' || attribute.name === '' || more !== undefined || text.includes(':::'))
    throw covercryptError(
      'invalid_policy',
      `${JSON.stringify(text.slice(0, 80))} is not an attribute: write Dimension::Name.`,
    )
  return attribute
}
