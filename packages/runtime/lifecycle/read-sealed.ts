import { existsSync } from 'node:fs'
import { inHome, StartupError } from '@warder/base'
import { isEmptyDatabase, loadRootKeys, openSealToRead, type Seal } from '@warder/storage'
import { connect, toDatabaseLocation } from './database.ts'
import { rootKeySource, type ServiceLaunch } from './launch.ts'

/**
 * Opens sealed values of a service for a command, beside the running service or without it; changes nothing.
 * @throws StartupError naming what is missing: the database, or the root key that fits it
 */
export async function readSealed<Result>(
  service: string,
  { config, home, env }: Pick<ServiceLaunch, 'config' | 'home' | 'env'>,
  work: (seal: Pick<Seal, 'open'>) => Promise<Result>,
): Promise<Result> {
  const rootKeys = loadRootKeys(
    rootKeySource(config, (path) => inHome(home, path)),
    env,
    { create: false },
  )
  const location = toDatabaseLocation(config, home, service)
  // Opening would create it.
  if (location.kind === 'sqlite' && !existsSync(location.path))
    throw new StartupError(`the database ${location.path} does not exist`)
  const db = await connect(location, undefined)
  try {
    const seal = (await isEmptyDatabase(db)) ? undefined : await openSealToRead({ db, rootKeys, service })
    if (seal === undefined)
      throw new StartupError(
        `wrong root key: ${rootKeys.map(({ from }) => from).join(', ')} does not decrypt the ${service} database`,
      )
    return await work(seal)
  } finally {
    await db.close()
  }
}
