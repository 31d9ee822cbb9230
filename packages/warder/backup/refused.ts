import { StartupError } from '@warder/foundation/errors'

/** A backup that is not opened, and why. */
export class BackupRefused extends StartupError {}
