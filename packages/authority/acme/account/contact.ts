import { acmeProblem } from '../protocol/problem.ts'

const maxContacts = 10
const maxContactLength = 320

/** RFC 8555 §7.3: one mail address in each. @throws malformed, unsupportedContact, invalidContact */
export function readContacts(value: unknown): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > maxContacts)
    throw acmeProblem('malformed', `'contact' is a list of at most ${maxContacts} addresses.`)
  return value.map((contact: unknown) => {
    if (typeof contact !== 'string' || contact.length > maxContactLength)
      throw acmeProblem('malformed', "An address in 'contact' is a text.")
    if (!contact.startsWith('mailto:'))
      throw acmeProblem('unsupportedContact', "An address in 'contact' begins with mailto:.")
    if (!/^mailto:[^\s@,?\p{Cc}\p{Cf}]+@[^\s@,?\p{Cc}\p{Cf}]+$/u.test(contact) || !contact.isWellFormed())
      throw acmeProblem('invalidContact', "An address in 'contact' is not one mail address.")
    return contact
  })
}
