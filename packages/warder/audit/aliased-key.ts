import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { openSealedDatabase, toDatabaseLocation } from '@warder/foundation/runtime'
import type { HomeContext } from '../cli/verb-command.ts'
import { configure } from '../installation/configuration.ts'

const maxShown = 10
/** No user has this name: the alias names no owner. */
const anyOwner = '.'

/**
 * Resolves an alias to the id of its key, since records name keys by their ids. Any other text is an id.
 * @throws StartupError for an alias that no key has, or that several owners have
 */
export async function resolveKeyId(text: string, { home, terminal }: HomeContext): Promise<string> {
  const { aliasesNamed, fullForm, parseAlias } = await import('@warder/kms/access')
  const asked = parseAlias(text, anyOwner)
  if (asked === undefined) return text
  const folder = resolve(home)
  const { launch } = configure('kms', folder, [], terminal.env)
  const place = toDatabaseLocation(launch.config, folder, 'kms')
  // Opening it would make it.
  if (place.kind === 'sqlite' && !existsSync(place.path))
    throw new StartupError(
      `${text} cannot be resolved: the database ${place.path} is not there; name the key by its id`,
    )
  const { db, close } = await openSealedDatabase('kms', launch)
  try {
    const all = await aliasesNamed(db, asked.name, maxShown)
    const found = asked.owner === anyOwner ? all : all.filter(({ owner }) => owner === asked.owner)
    const [only, other] = found
    if (only === undefined) throw new StartupError(`no key has the alias ${text}: name the key by its id`)
    if (other !== undefined)
      throw new StartupError(`several owners have ${text}: name one of ${found.map(fullForm).join(', ')}`)
    return only.keyId
  } finally {
    await close()
  }
}
