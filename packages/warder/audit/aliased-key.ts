import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { openSealedDatabase, toDatabaseLocation } from '@warder/runtime'
import type { HomeContext } from '../cli/verb-command.ts'
import { configure } from '../installation/configuration.ts'

const maxShown = 10
/** Marks an alias without an owner; no user can have this name. */
const anyOwner = '.'

/**
 * Resolves an alias to a key id, because records contain key ids. Any other text is an id already.
 * @throws StartupError for an alias that no key has, or that several owners have
 */
export async function resolveKeyId(text: string, { home, terminal }: HomeContext): Promise<string> {
  const { aliasesNamed, fullForm, parseAlias } = await import('@warder/keys')
  const asked = parseAlias(text, anyOwner)
  if (asked === undefined) return text
  const folder = resolve(home)
  const { launch } = configure('kms', folder, [], terminal.env)
  const place = toDatabaseLocation(launch.config, folder, 'kms')
  // Opening a missing database would create it.
  if (place.kind === 'sqlite' && !existsSync(place.path))
    throw new StartupError(
      `${text} cannot be resolved: the database ${place.path} does not exist; use the id of the key`,
    )
  const { db, close } = await openSealedDatabase('kms', launch)
  try {
    const all = await aliasesNamed(db, asked.name, maxShown)
    const found = asked.owner === anyOwner ? all : all.filter(({ owner }) => owner === asked.owner)
    const [only, other] = found
    if (only === undefined) throw new StartupError(`no key has the alias ${text}: use the id of the key`)
    if (other !== undefined)
      throw new StartupError(
        `several owners have an alias ${text}: use one of ${found.map(fullForm).join(', ')}`,
      )
    return only.keyId
  } finally {
    await close()
  }
}
