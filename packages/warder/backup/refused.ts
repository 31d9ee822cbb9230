import { StartupError } from '@warder/base'

/** The backup is invalid, or its sender is refused. */
export class BackupRefused extends StartupError {}
