import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { root } from '../../bundle/entry-points.ts'

/** A published schema (draft 07, whatever way it writes that): `scripts/package/fixtures/README.md` says whose. */
export function fixture(name: string): Readonly<Record<string, unknown>> {
  const { $schema: _, ...schema } = JSON.parse(
    readFileSync(join(root, 'scripts/package/fixtures', name), 'utf8'),
  )
  return schema
}

/**
 * @param others schemas that it refers to
 * @returns the error with a value, a line for each
 */
export function validator(
  name: string,
  others: readonly string[] = [],
): (value: unknown) => readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  // RFC 3987 and RFC 6531, which nothing here needs.
  for (const format of ['iri-reference', 'idn-email']) ajv.addFormat(format, true)
  for (const other of others) ajv.addSchema(fixture(other))
  const validate = ajv.compile(fixture(name))
  return (value) => {
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}
