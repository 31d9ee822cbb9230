import { existsSync } from 'node:fs'
import { defaultConfigToml, envNameOf, settingsHelp } from '@warder/foundation/config'
import { StartupError } from '@warder/foundation/errors'
import { type Command, expectNothing, homeOf, takeOption, UsageError } from '../cli/command.ts'
import { checkAsStart } from '../installation/checks.ts'
import { configure } from '../installation/configuration.ts'
import { type ServiceName, serviceNames, settingsOf } from '../installation/services.ts'
import { migrateConfig } from './migrate.ts'

export const config: Command = {
  name: 'config',
  summary: 'prints every setting, checks your files, shows what is in force',
  help: `warder config print auth|kms        every setting with its default, as a file to edit
warder config explain auth|kms      every setting with its flag and environment variable
warder config check [--home DIR]    says whether both services' settings are right
warder config show [--home DIR]     the values in force, and where each comes from
warder config migrate FILE [--output FILE] [--force]
                                    writes another server's kms.toml under Warder's names; says what was read as what,
                                    and what has no counterpart. Secrets are printed only with --output -

Example:
  warder config print kms > kms.toml`,
  async run(args, terminal) {
    const home = takeOption(args, 'home')
    const [verb, ...rest] = home.rest
    const folder = homeOf(home.value, terminal.env)
    switch (verb) {
      case 'print': {
        const name = serviceName(rest)
        terminal.out(defaultConfigToml(name, settingsOf(name)))
        return 0
      }
      case 'explain': {
        const name = serviceName(rest)
        terminal.out(settingsHelp(name, settingsOf(name)))
        return 0
      }
      case 'check':
        expectNothing(rest)
        if (!existsSync(folder)) throw new StartupError(`the home folder ${folder} is not there`)
        for (const name of serviceNames) {
          const configuration = configure(name, folder, [], terminal.env)
          for (const warning of configuration.loaded.warnings) terminal.err(`warning: ${warning}`)
          await checkAsStart(name, configuration)
        }
        terminal.out(`the configuration in ${folder} is right`)
        return 0
      case 'show':
        expectNothing(rest)
        for (const name of serviceNames) {
          const { loaded } = configure(name, folder, [], terminal.env)
          for (const [key, setting] of Object.entries(settingsOf(name))) {
            const value =
              setting.type === 'secret' && loaded.values[key] !== undefined ? '[secret]' : loaded.values[key]
            const from = loaded.provenance[key]
            const where = from === 'environment' ? envNameOf(name, key, setting) : from
            terminal.out(
              `${name}.${key} = ${value === undefined ? 'unset' : JSON.stringify(value)}  (${where})`,
            )
          }
        }
        return 0
      case 'migrate':
        return migrateConfig(rest, terminal)
      default:
        throw new UsageError('say what to do: print, explain, check, show or migrate')
    }
  },
}

function serviceName([name, ...rest]: readonly string[]): ServiceName {
  expectNothing(rest)
  if (name !== 'auth' && name !== 'kms') throw new UsageError('name the service: auth or kms')
  return name
}
