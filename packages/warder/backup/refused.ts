import { StartupError } from '@warder/foundation/errors'

/** The backup is invalid, or its sender is refused. */
export class BackupRefused extends StartupError {}
